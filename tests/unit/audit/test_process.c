/* SPDX-License-Identifier: Apache-2.0 */
/* Who was witnessed: announced images, paired with their hellos, failures taken back. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "audit/collector.h"
#include "core/event.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

static uint64_t unwitnessed(enum sbx_exec_class c)
{
	return w.counts.unwitnessed_by_class[c];
}

Test(audit_process, images_without_a_hello_are_counted_by_class, .fini = end)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/bin/sh");
	witness_hello(&w, 10, "/bin/sh");
	witness_exec(&w, 11, SBX_EXEC_STATIC, "/bin/busybox");
	witness_exec(&w, 12, SBX_EXEC_SECURE, "/usr/bin/sudo");
	witness_exec(&w, 13, SBX_EXEC_DYNAMIC, "/bin/stripped"); /* lost its LD_PRELOAD */
	witness_exec(&w, 14, SBX_EXEC_MISSING, "/bin/nothing");
	witness_end(&w);
	cr_assert_eq(w.counts.processes, 4);
	cr_assert_eq(w.counts.witnessed, 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_STATIC), 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_SECURE), 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_DYNAMIC), 1);
	cr_assert_eq(json_array_size(w.lines), 9, "five execs, a hello, three unwitnessed");
}

Test(audit_process, an_exec_that_failed_is_taken_back, .fini = end)
{
	struct sbx_event failed = {.pid = 10,
				   .kind = SBX_EV_CALL,
				   .op = SBX_EXEC,
				   .call = SBX_CALL_execve,
				   .flags = SBX_EVF_ALLOWED,
				   .err = ENOEXEC};

	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/usr/local/bin/cc");
	witness_exec(&w, 10, SBX_EXEC_STATIC, "/usr/bin/cc"); /* the one before failed */
	witness_put(&w, failed, "/usr/bin/cc", "");	      /* and so did this */
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/bin/cc");
	witness_hello(&w, 10, "/bin/cc");
	witness_judged = true;
	witness_end(&w);
	cr_assert_eq(w.counts.processes, 1);
	cr_assert_eq(w.counts.witnessed, 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_DYNAMIC) + unwitnessed(SBX_EXEC_STATIC), 0);
}

Test(audit_process, a_thread_that_speaks_until_its_process_is_another_takes_nothing_back,
     .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_exec(&w, 10, SBX_EXEC_STATIC, "/bin/busybox");
	witness_call(&w, 10, SBX_MODIFY, true, "/ws/a");
	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/id");
	witness_end(&w);
	cr_assert_eq(w.counts.processes, 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_STATIC), 1);
}

Test(audit_process, a_spawn_is_paired_with_the_hello_of_the_child_whichever_comes_first,
     .fini = end)
{
	struct sbx_event spawn = {.pid = 11,
				  .kind = SBX_EV_EXEC,
				  .op = SBX_EXEC,
				  .call = SBX_CALL_posix_spawn,
				  .flags = SBX_EVF_ALLOWED};

	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_put(&w, spawn, "/bin/one", "");
	witness_call(&w, 10, SBX_READ, true, "/etc/a"); /* the parent goes on */
	witness_hello(&w, 11, "/bin/one");
	witness_call(&w, 11, SBX_READ, true, "/etc/b");
	spawn.pid = 12;
	witness_hello(&w, 12, "/bin/two");
	witness_exec(&w, 12, SBX_EXEC_DYNAMIC, "/bin/three");
	witness_hello(&w, 12, "/bin/three");
	witness_put(&w, spawn, "/bin/two", "");
	spawn.pid = 13;
	spawn.aux = SBX_EXEC_STATIC;
	witness_put(&w, spawn, "/bin/four", "");
	witness_end(&w);
	cr_assert_eq(w.counts.processes, 4);
	cr_assert_eq(w.counts.witnessed, 3);
	cr_assert_eq(unwitnessed(SBX_EXEC_DYNAMIC), 0);
	cr_assert_eq(unwitnessed(SBX_EXEC_STATIC), 1);
}

Test(audit_process, a_dynamic_program_run_by_a_static_one_is_not_taken_for_it, .fini = end)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_exec(&w, 10, SBX_EXEC_STATIC, "/bin/busybox");
	witness_hello(&w, 10, "/bin/ls");
	witness_end(&w);
	cr_assert_eq(w.counts.processes, 2);
	cr_assert_eq(w.counts.witnessed, 1);
	cr_assert_eq(unwitnessed(SBX_EXEC_STATIC), 1);
}
