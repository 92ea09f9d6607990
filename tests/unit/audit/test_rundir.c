/* SPDX-License-Identifier: Apache-2.0 */
/* Where runs are kept, and for how long. */
#include "audit/rundir.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"

static char top[64];

static void begin(void)
{
	strcpy(top, "/tmp/sbx-rundir-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	setenv("XDG_STATE_HOME", top, 1);
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", top);
	cr_assert_eq(system(command), 0);
}

static const char *root(void)
{
	static char text[4200];
	struct b_err err;
	char *r = aud_runs_root(&err);

	cr_assert_not_null(r, "%s", err.msg);
	snprintf(text, sizeof text, "%s", r);
	free(r);
	return text;
}

Test(audit_rundir, the_root_is_looked_for_in_order)
{
	struct passwd *pw = getpwuid(geteuid());
	char want[4200];

	setenv("XDG_STATE_HOME", "/x/state", 1);
	setenv("HOME", "/usr", 1); /* exists everywhere */
	cr_assert_str_eq(root(), "/x/state/sbx-launch/runs");
	setenv("XDG_STATE_HOME", "relative", 1);
	cr_assert_str_eq(root(), "/usr/.local/state/sbx-launch/runs");
	unsetenv("XDG_STATE_HOME");
	cr_assert_str_eq(root(), "/usr/.local/state/sbx-launch/runs");
	setenv("HOME", "", 1);
	cr_assert_not_null(pw);
	snprintf(want, sizeof want, "%s/.local/state/sbx-launch/runs", pw->pw_dir);
	if (access(pw->pw_dir, F_OK) == 0)
		cr_assert_str_eq(root(), want);
	else /* nobody's */
		cr_assert_null(aud_runs_root(NULL));
}

Test(audit_rundir, a_home_that_does_not_exist_is_refused_not_made)
{
	struct b_err err;

	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/no/such/home", 1);
	cr_assert_null(aud_runs_root(&err));
	cr_assert_eq(err.kind, B_AUDIT);
	cr_assert_not_null(strstr(err.msg, "/no/such/home does not exist"), "%s", err.msg);
}

Test(audit_rundir, a_run_is_private_locked_and_sorts_last, .init = begin, .fini = end)
{
	struct aud_rundir a, b;
	struct b_err err;
	struct stat st;

	cr_assert_eq(aud_rundir_new(&a, &err), 0, "%s", err.msg);
	cr_assert(aud_run_id_valid(a.id));
	cr_assert_eq(fstat(a.dirfd, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(fcntl(a.dirfd, F_GETFD), FD_CLOEXEC);
	cr_assert_eq(aud_rundir_show(&a, &err), 0, "%s", err.msg);
	cr_assert(aud_run_is_live(root(), a.id));
	cr_assert_eq(aud_rundir_new(&b, &err), 0);
	cr_assert_lt(strcmp(a.id, b.id), 0);
	aud_rundir_release(&a);
	aud_rundir_release(&b);
}

Test(audit_rundir, a_released_run_is_no_longer_live, .init = begin, .fini = end)
{
	struct aud_rundir a;
	struct b_err err;
	char id[40];

	cr_assert_eq(aud_rundir_new(&a, &err), 0);
	cr_assert_eq(aud_rundir_show(&a, &err), 0);
	strcpy(id, a.id);
	aud_rundir_release(&a);
	cr_assert_not(aud_run_is_live(root(), id));
}

Test(audit_rundir, a_root_others_can_write_is_refused, .init = begin, .fini = end)
{
	struct aud_rundir a;
	struct b_err err;

	cr_assert_eq(b_mkdirs(root(), &err), 0);
	cr_assert_eq(chmod(root(), 0770), 0);
	cr_assert_eq(aud_rundir_new(&a, &err), -1);
	cr_assert_eq(err.kind, B_AUDIT);
	cr_assert_not_null(strstr(err.msg, "chmod go-w"));
}

Test(audit_rundir, a_root_that_cannot_be_made_is_an_error_with_a_remedy, .init = begin, .fini = end)
{
	struct aud_rundir a;
	struct b_err err;
	char file[80];

	snprintf(file, sizeof file, "%s/sbx-launch", top);
	cr_assert_eq(close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	cr_assert_eq(aud_rundir_new(&a, &err), -1);
	cr_assert_eq(err.kind, B_AUDIT);
	cr_assert_not_null(strstr(err.msg, "--audit-level none"));
}

static void make(const char *id, size_t bytes)
{
	char path[200];
	int fd;

	snprintf(path, sizeof path, "%s/%s", root(), id);
	cr_assert_eq(mkdir(path, 0700), 0);
	strcat(path, "/audit.jsonl");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(posix_fallocate(fd, 0, (off_t)(bytes ? bytes : 1)), 0);
	close(fd);
}

static bool there(const char *id)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", root(), id);
	return access(path, F_OK) == 0;
}

static void make_four(void)
{
	struct b_err err;

	cr_assert_eq(b_mkdirs(root(), &err), 0);
	make("20260101T000000Z-000001", 1 << 20);
	make("20260102T000000Z-000002", 1 << 20);
	make("20260103T000000Z-000003", 1 << 20);
	make("20260104T000000Z-000004", 1 << 20);
}

Test(audit_rundir, the_oldest_runs_beyond_the_number_go, .init = begin, .fini = end)
{
	make_four();
	aud_rundir_retain_to(root(), 2, 1u << 30);
	cr_assert_not(there("20260101T000000Z-000001"));
	cr_assert_not(there("20260102T000000Z-000002"));
	cr_assert(there("20260103T000000Z-000003"));
	cr_assert(there("20260104T000000Z-000004"));
}

Test(audit_rundir, the_oldest_runs_beyond_the_bytes_go_but_never_the_newest, .init = begin,
     .fini = end)
{
	char id[40];

	make_four();
	for (int day = 5; day <= 8; day++) {
		snprintf(id, sizeof id, "202601%02dT000000Z-%06x", day, (unsigned)day);
		make(id, 1 << 20);
	}
	aud_rundir_retain_to(root(), 100, 5u << 20);
	cr_assert_not(there("20260103T000000Z-000003"));
	cr_assert(there("20260104T000000Z-000004"));
	aud_rundir_retain_to(root(), 1, 1);
	cr_assert_not(there("20260107T000000Z-000007"));
	cr_assert(there("20260108T000000Z-000008"));
}

static void make_inside(const char *id, const char *outermost, size_t bytes)
{
	char path[200];

	make(id, bytes);
	snprintf(path, sizeof path, "%s/%s/" AUD_INSIDE "%s", root(), id, outermost);
	cr_assert_eq(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
}

/* A command can make as many as it likes. */
Test(audit_rundir, runs_inside_of_one_count_as_one_and_go_with_it, .init = begin, .fini = end)
{
	char id[40];

	make_four();
	for (unsigned i = 0; i < 50; i++) {
		snprintf(id, sizeof id, "20260105T000000Z-%06x", i);
		make_inside(id, "20260103T000000Z-000003", 1 << 16);
	}
	aud_rundir_retain_to(root(), 2, 1u << 30);
	cr_assert_not(there("20260101T000000Z-000001"));
	cr_assert_not(there("20260102T000000Z-000002"));
	cr_assert(there("20260103T000000Z-000003"));
	cr_assert(there("20260104T000000Z-000004"));
	cr_assert(there("20260105T000000Z-000000"));
	cr_assert(there(id));
	aud_rundir_retain_to(root(), 1, 1u << 30);
	cr_assert(there("20260104T000000Z-000004"));
	cr_assert_not(there("20260103T000000Z-000003"));
	cr_assert_not(there("20260105T000000Z-000000"));
	cr_assert_not(there(id));
}

Test(audit_rundir, no_run_uses_up_the_bytes_of_others, .init = begin, .fini = end)
{
	make_four();
	make("20260105T000000Z-000005", 32 << 20);
	make_inside("20260105T000001Z-000006", "20260105T000000Z-000005", 32 << 20);
	aud_rundir_retain_to(root(), 100, 8u << 20);
	cr_assert(there("20260101T000000Z-000001"));
	cr_assert(there("20260105T000000Z-000005"));
	cr_assert(there("20260105T000001Z-000006"));
}

Test(audit_rundir, what_is_inside_of_a_live_run_stays, .init = begin, .fini = end)
{
	struct aud_rundir d;
	struct b_err err;
	char id[40];

	cr_assert_eq(aud_rundir_new(&d, &err), 0);
	cr_assert_eq(aud_rundir_show(&d, &err), 0);
	make_inside("20260105T000001Z-000006", d.id, 1);
	strcpy(id, d.id);
	make("29260105T000001Z-000006", 1);
	aud_rundir_retain_to(root(), 1, 1);
	cr_assert(there(id));
	cr_assert(there("20260105T000001Z-000006"));
	aud_rundir_release(&d);
	aud_rundir_retain_to(root(), 1, 1);
	cr_assert_not(there(id));
	cr_assert_not(there("20260105T000001Z-000006"));
}

Test(audit_rundir, a_start_inside_that_fails_leaves_nothing, .init = begin, .fini = end)
{
	struct aud_rundir d;
	struct b_err err;
	char path[200];

	cr_assert_eq(aud_rundir_new(&d, &err), 0);
	cr_assert_eq(aud_rundir_join(&d, "20260105T000000Z-000005", &err), 0);
	cr_assert_lt(strlen(d.path), sizeof path);
	strcpy(path, d.path);
	aud_rundir_discard(&d);
	cr_assert_neq(access(path, F_OK), 0);
}

Test(audit_rundir, a_live_run_stays_whatever_its_age, .init = begin, .fini = end)
{
	struct aud_rundir live;
	struct b_err err;

	cr_assert_eq(aud_rundir_new(&live, &err), 0);
	cr_assert_eq(aud_rundir_show(&live, &err), 0);
	make("29990101T000000Z-000001", 0); /* newer than the live one */
	aud_rundir_retain_to(root(), 1, 1u << 30);
	cr_assert(there(live.id));
	cr_assert(there("29990101T000000Z-000001"));
	aud_rundir_release(&live);
}

Test(audit_rundir, what_is_no_run_is_left_alone, .init = begin, .fini = end)
{
	struct b_err err;

	cr_assert_eq(b_mkdirs(root(), &err), 0);
	make("notes", 0);
	make("20260101T000000Z-00000g", 0);
	aud_rundir_retain_to(root(), 0, 0);
	cr_assert(there("notes"));
	cr_assert(there("20260101T000000Z-00000g"));
}

Test(audit_rundir, runs_are_found_by_beginning_and_as_last, .init = begin, .fini = end)
{
	char id[AUD_ID_MAX];
	struct b_err err;

	cr_assert_eq(aud_run_find(root(), "last", id, &err), -1);
	cr_assert_eq(err.kind, B_NOTFOUND);
	make_four();
	cr_assert_eq(aud_run_find(root(), "last", id, &err), 0);
	cr_assert_str_eq(id, "20260104T000000Z-000004");
	cr_assert_eq(aud_run_find(root(), "20260102", id, &err), 0);
	cr_assert_str_eq(id, "20260102T000000Z-000002");
	cr_assert_eq(aud_run_find(root(), "202601", id, &err), -1);
	cr_assert_eq(err.kind, B_USAGE);
	cr_assert_eq(aud_run_find(root(), "../x", id, &err), -1);
	cr_assert_eq(err.kind, B_NOTFOUND);
	cr_assert_eq(aud_run_find(root(), "", id, &err), -1);
}

static int load_with(const char *text, struct aud_run *run, struct b_err *err)
{
	struct b_str path = {0};
	struct b_err why;
	int rc;

	b_str_addf(&path, "%s/20260104T000000Z-000004/run.json", root());
	cr_assert_eq(b_write_file(path.s, 0600, text, strlen(text), false, &why), 0);
	rc = aud_run_load(root(), "20260104T000000Z-000004", run, err);
	b_str_release(&path);
	return rc;
}

Test(audit_rundir, a_run_json_of_any_shape_is_survived, .init = begin, .fini = end)
{
	static const char *const odd[] = {"{}", "{\"argv\":3,\"counts\":[],\"exit\":7}",
					  "{\"workspaces\":[1,\"relative\",null]}",
					  "{\"exit\":{\"status\":\"zero\"}}"};
	struct aud_run run;
	struct b_err err;
	size_t i;

	make_four();
	for (i = 0; i < sizeof odd / sizeof *odd; i++) {
		cr_assert_eq(load_with(odd[i], &run, &err), 0, "%s", odd[i]);
		cr_assert_eq(run.nworkspaces, 0);
		cr_assert_eq(aud_run_int(&run, "exit.status", -1), -1);
		cr_assert_null(aud_run_str(&run, "argv.0"));
		aud_run_release(&run);
	}
	cr_assert_eq(load_with("[]", &run, &err), -1);
	cr_assert_eq(load_with("{\"a\":", &run, &err), -1);
	cr_assert_eq(err.kind, B_FORMAT);
}

Test(audit_rundir, a_number_beyond_any_integer_does_not_hide_the_run, .init = begin, .fini = end)
{
	struct aud_run run;
	struct b_err err;

	make_four();
	cr_assert_eq(load_with("{\"exit\":{\"status\":3},\"counts\":{\"internal\":"
			       "18446744073709551615,\"lost\":-18446744073709551615}}",
			       &run, &err),
		     0);
	cr_assert_eq(aud_run_int(&run, "exit.status", -1), 3);
	cr_assert_eq(aud_run_int(&run, "counts.internal", 0), INT64_MAX);
	cr_assert_eq(aud_run_int(&run, "counts.lost", 0), INT64_MIN);
	aud_run_release(&run);
}

Test(audit_rundir, a_run_that_never_began_leaves_nothing, .init = begin, .fini = end)
{
	struct aud_rundir d;
	struct b_err err;
	char path[4400];

	cr_assert_eq(aud_rundir_new(&d, &err), 0);
	close(openat(d.dirfd, AUD_LOG_NAME, O_WRONLY | O_CREAT, 0600));
	snprintf(path, sizeof path, "%s", d.path);
	aud_rundir_discard(&d);
	cr_assert_neq(access(path, F_OK), 0);
}

Test(audit_rundir, the_last_run_is_one_that_began, .init = begin, .fini = end)
{
	struct aud_rundir began, cut;
	char id[AUD_ID_MAX];
	struct b_err err;

	cr_assert_eq(aud_rundir_new(&began, &err), 0);
	close(openat(began.dirfd, AUD_INFO_NAME, O_WRONLY | O_CREAT, 0600));
	cr_assert_eq(aud_rundir_show(&began, &err), 0);
	cr_assert_eq(aud_rundir_new(&cut, &err), 0);
	close(openat(cut.dirfd, AUD_LOG_NAME, O_WRONLY | O_CREAT, 0600));
	cr_assert_eq(aud_rundir_show(&cut, &err), 0);
	cr_assert_eq(aud_run_find(root(), "last", id, &err), 0);
	cr_assert_str_eq(id, began.id);
	aud_rundir_release(&began);
	aud_rundir_release(&cut);
}

Test(audit_rundir, a_start_that_was_cut_short_is_no_run_and_goes, .init = begin, .fini = end)
{
	struct aud_rundir cut, starting;
	char **names, path[4400];
	struct b_err err;
	size_t n;

	cr_assert_eq(aud_rundir_new(&cut, &err), 0);
	cr_assert_eq(aud_rundir_new(&starting, &err), 0);
	cr_assert_eq(aud_runs_list(root(), &names, &n, &err), 0);
	cr_assert_eq(n, 0);
	aud_runs_free(names, n);
	snprintf(path, sizeof path, "%s", cut.path);
	aud_rundir_release(&cut); /* as a kill does */
	aud_rundir_retain_to(root(), 100, 1u << 30);
	cr_assert_neq(access(path, F_OK), 0);
	cr_assert_eq(access(starting.path, F_OK), 0);
	cr_assert_eq(aud_rundir_show(&starting, &err), 0, "%s", err.msg);
	aud_rundir_release(&starting);
}

Test(audit_rundir, turns_are_drawn_whatever_the_process)
{
	enum { DRAWS = 8192 };
	unsigned due = 0;

	for (int i = 0; i < DRAWS; i++)
		due += aud_rundir_is_due();
	/* 512 are expected; less or more than half of that comes once in a universe */
	cr_expect_gt(due, DRAWS / AUD_RETAIN_TURNS / 2);
	cr_expect_lt(due, DRAWS / AUD_RETAIN_TURNS * 2);
}
