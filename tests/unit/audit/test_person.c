/* SPDX-License-Identifier: Apache-2.0 */
/* What the person reads of denials, and what helps. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/event.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

Test(audit_person, what_opens_a_class_of_calls_is_named_as_that, .fini = end)
{
	static const char *const paths[] = {"/proc/12/mem", "/proc/13/mem"};

	witness_start(&w, SBX_AUDIT_ALL);
	for (size_t i = 0; i < 2; i++)
		witness_put(&w,
			    (struct sbx_event){
				    .pid = 10, .op = SBX_MODIFY, .call = SBX_CALL_ptrace, .err = 1},
			    paths[i], "");
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 1, "path"), "/proc/13/mem");
	cr_assert_str_eq(w.told.s, "denied ptrace (system-call filter): debuggers, strace and "
				   "LeakSanitizer need --allow debug\n");
}

Test(audit_person, namespaces_are_told_once_by_whatever_call, .fini = end)
{
	static const unsigned short calls[] = {SBX_CALL_clone, SBX_CALL_unshare};

	witness_start(&w, SBX_AUDIT_ALL);
	for (size_t i = 0; i < 2; i++)
		witness_put(
			&w,
			(struct sbx_event){.pid = 10, .op = SBX_MODIFY, .call = calls[i], .err = 1},
			"/proc/12/ns", "");
	witness_judged = true;
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 1, "call"), "unshare");
	cr_assert_str_eq(w.told.s,
			 "denied namespaces (system-call filter): programs that make "
			 "their own need --allow namespaces; what mounts in them (bwrap, podman) "
			 "cannot work inside\n");
}

Test(audit_person, a_secret_history_is_closed_quietly, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/bash_history");
	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/history");
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 2);
	cr_assert_not_null(strstr(w.told.s, "/history "));
	cr_assert_null(strstr(w.told.s, "bash_history"));
}

Test(audit_person, no_remedy_names_a_process_by_its_number, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_MODIFY, false, "/proc/12/uid_map");
	witness_call(&w, 10, SBX_MODIFY, false, "/proc/12/oom_score_adj");
	witness_end(&w);
	cr_assert_not_null(strstr(w.told.s, "uid_map"));
	cr_assert_not_null(strstr(w.told.s, "): mapping user namespaces needs --allow "
					    "namespaces\n"));
	cr_assert_null(strstr(w.told.s, "allow with"));
}
