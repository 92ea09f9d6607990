/* SPDX-License-Identifier: Apache-2.0 */
/* What the person reads of denials, and what helps. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
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

/* ---- each remedy by what the line is about ---- */

static void keep(void *ctx, const char *line)
{
	struct b_str *out = ctx;

	b_str_reset(out);
	b_str_add(out, line);
}

Test(audit_person, the_remedy_is_one_that_helps)
{
	static const char outside[] = "builtin:base:1";
	static const struct {
		unsigned call;
		const char *path, *origin, *end;
	} rows[] = {
		{SBX_CALL_openat, "/home/u/f", outside, ": allow with --modify /home/u/f"},
		/* a made-up name: the part that stays; a directory, with what is put into it */
		{SBX_CALL_openat, "/home/u/x.J7MehC", outside,
		 ": allow with --modify '/home/u/x.*'"},
		{SBX_CALL_mkdirat, "/home/u/x.J7MehC", outside,
		 ": allow with --modify '/home/u/x.*/**'"},
		/* not where a rule gives the name, or where all hidden names would be open */
		{SBX_CALL_openat, "/w/id.Ab12Cd", "cli:--deny-modify:1",
		 ": allow with --modify /w/id.Ab12Cd"},
		{SBX_CALL_openat, "/home/u/.AbC12f", outside,
		 ": allow with --modify /home/u/.AbC12f"},
		{SBX_CALL_mkdir, "/home/u/made", outside, ": allow with --modify /home/u/made"},
		/* documents that must all allow */
		{SBX_CALL_openat, "/home/u/f", "managed:/etc/sbx-launch/policy.yaml:3:4",
		 ": the policy of this host denies it, no option opens it"},
		{SBX_CALL_openat, "/home/u/f", "project:/w/.sbx-launch.yaml:3:4",
		 ": the file of the project denies it, no option opens it"},
		/* git directories outside of the workspace, as a whole */
		{SBX_CALL_mkdir, "/home/u/bare.git/objects/tmp_objdir-incoming-J7MehC", outside,
		 "stay closed: allow with --modify /home/u/bare.git"},
		{SBX_CALL_openat, "/home/u/app/.git/modules/a/b/index.lock", outside,
		 "stay closed: allow with --modify /home/u/app/.git/modules/a/b"},
		{SBX_CALL_openat, "/home/u/other/.git/refs/heads/x.lock", outside,
		 "stay closed: allow with --modify /home/u/other/.git"},
		{SBX_CALL_openat, "/home/u/other/.git/hooks/x", outside,
		 ": allow with --modify /home/u/other/.git/hooks/x"},
		{SBX_CALL_openat, "/home/u/index", outside, ": allow with --modify /home/u/index"},
		{SBX_CALL_openat, "/w/.git/refs/x", "p.yaml:3:4",
		 ": allow with --modify /w/.git/refs/x"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str line = {0};
		struct aud_person p = {.fn = keep, .ctx = &line};
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = rows[i].path,
				       .path_len = strlen(rows[i].path),
				       .matched = "r",
				       .origin = rows[i].origin,
				       .call = rows[i].call};
		size_t n = strlen(rows[i].end);

		if (strcmp(rows[i].origin, outside) == 0)
			d.matched = "<outside workspace>";
		aud_person_denial(&p, &d, 1);
		cr_expect(line.len > n && strcmp(line.s + line.len - n, rows[i].end) == 0,
			  "%s, %s: %s", rows[i].path, rows[i].origin, b_str_c(&line));
	}
}

/* An option opens all below: never the workspace, or the hooks, for a directory around them. */
Test(audit_person, a_directory_around_the_workspace_has_no_option)
{
	static const char *const workspaces[] = {"/home/u/src/app"};
	static const char outside[] = "builtin:base:1",
			  around[] = ": no option opens it without the workspace and what is "
				     "protected there: change it "
				     "from outside";
	static const struct {
		unsigned call;
		bool is_root;
		const char *path, *origin, *end;
	} rows[] = {
		{SBX_CALL_chmod, false, "/home/u/src", outside, around},
		{SBX_CALL_chmod, false, "/home/u/src/app", outside, around},
		{SBX_CALL_rmdir, false, "/home/u/src", outside, around},
		{SBX_CALL_rename, true, "/home/u/src/app", "builtin:default:12:16", around},
		{SBX_CALL_chmod, false, "/home/u/src/lib", outside,
		 ": allow with --modify /home/u/src/lib"},
		/* narrower than the parent */
		{SBX_CALL_rmdir, false, "/home/u/src/lib", outside,
		 ": allow with --modify '/home/u/src/lib*/**'"},
		{SBX_CALL_rmdir, true, "/home/u/src/lib", "cli:--modify:1",
		 "become a symlink: allow with --modify '/home/u/src/lib*/**'"},
		{SBX_CALL_rmdir, false, "/srv/x/y", outside,
		 ": allow its directory with --modify /srv/x"},
		/* of the repository */
		{SBX_CALL_chmod, false, "/home/u/src/app/.git", "preset:protected:29:11",
		 ": no option opens it without its hooks and configuration: change it from "
		 "outside"},
		{SBX_CALL_openat, false, "/home/u/src/app/.git/hooks/x", "preset:protected:30:11",
		 ": allow with --modify /home/u/src/app/.git/hooks/x"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str line = {0};
		struct aud_person p = {.fn = keep, .ctx = &line};
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = rows[i].path,
				       .path_len = strlen(rows[i].path),
				       .matched = "<outside workspace>",
				       .origin = rows[i].origin,
				       .call = rows[i].call,
				       .is_root = rows[i].is_root,
				       .workspaces = workspaces,
				       .nworkspaces = 1};
		size_t n = strlen(rows[i].end);

		aud_person_denial(&p, &d, 1);
		cr_expect(line.len > n && strcmp(line.s + line.len - n, rows[i].end) == 0,
			  "%s, %s: %s", rows[i].path, rows[i].origin, b_str_c(&line));
	}
}

/* A hidden file is no made-up name, a directory above a rule is more than was refused. */
Test(audit_person, an_option_opens_what_was_refused_alone)
{
	static const char none[] =
		": no option opens it without what is denied below it: change it "
		"from outside",
			  outside[] = "<outside workspace>", base[] = "builtin:base:1";
	static const struct {
		enum sbx_op op;
		bool is_log;
		const char *path, *matched, *origin, *end;
	} rows[] = {
		{SBX_MODIFY, false, "/home/u/.Xauthority", "~/.Xauthority", "preset:secrets:32:7",
		 ": allow with --modify /home/u/.Xauthority"},
		{SBX_MODIFY, false, "/home/u/.J7MehC4", outside, base,
		 ": allow with --modify /home/u/.J7MehC4"},
		{SBX_MODIFY, false, "/home/u/.x.J7MehC4", outside, base,
		 ": allow with --modify '/home/u/.x.*'"},
		{SBX_MODIFY, false, "/w/.claude", ".claude/hooks/**", "preset:protected:85:11",
		 none},
		{SBX_MODIFY, false, "/w/.claude/hooks", ".claude/hooks/**",
		 "preset:protected:85:11", ": allow with --modify /w/.claude/hooks"},
		{SBX_READ, false, "/home/u/.config", "~/.config/gh/**", "preset:secrets:3:7", none},
		{SBX_READ, false, "/home/u/.config/gh/h", "~/.config/gh/**", "preset:secrets:3:7",
		 ": allow with --read /home/u/.config/gh/h"},
		{SBX_MODIFY, true, "/home/u/log", outside, base,
		 ": the log of the run, no option opens it"},
		{SBX_CONNECT, false, "@x", "[]", "builtin:default",
		 ": an abstract socket, which has no path: allow with --unix host"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str line = {0};
		const struct aud_denial d = {.op = rows[i].op,
					     .path = rows[i].path,
					     .path_len = strlen(rows[i].path),
					     .matched = rows[i].matched,
					     .origin = rows[i].origin,
					     .call = SBX_CALL_openat,
					     .is_log = rows[i].is_log};
		size_t n = strlen(rows[i].end);

		aud_denial_line(&d, &line);
		cr_expect(line.len > n && strcmp(line.s + line.len - n, rows[i].end) == 0, "%s: %s",
			  rows[i].path, b_str_c(&line));
	}
}

/* Where no rule opens anything, the option is the same; what the run has for itself has none. */
Test(audit_person, an_empty_list_is_no_name)
{
	static const char *const ends[][2] = {
		{"[]", ": allow with --modify /w/f"},
		{"<no matching rule>", ": allow with --modify /w/f"},
		{"/w/**", "builtin:base:47)"},
	};

	for (size_t i = 0; i < 3; i++) {
		b_auto(b_str_release) struct b_str line = {0};
		struct aud_person p = {.fn = keep, .ctx = &line};
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = "/w/f",
				       .path_len = 4,
				       .matched = ends[i][0],
				       .origin = "builtin:base:47"};
		size_t n = strlen(ends[i][1]);

		aud_person_denial(&p, &d, 1);
		cr_expect(line.len > n && strcmp(line.s + line.len - n, ends[i][1]) == 0, "%s",
			  b_str_c(&line));
	}
}

Test(audit_person, one_line_for_a_git_directory)
{
	static const char *const paths[] = {"/home/u/bare.git/objects/1a", "/home/u/bare.git/HEAD",
					    "/home/u/bare.git/refs/heads/x"};
	b_auto(b_str_release) struct b_str line = {0};
	struct aud_person p = {.fn = keep, .ctx = &line};

	for (size_t i = 0; i < 3; i++) {
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = paths[i],
				       .path_len = strlen(paths[i]),
				       .matched = "<outside workspace>",
				       .origin = "builtin:base:1"};

		b_str_reset(&line);
		aud_person_denial(&p, &d, 1);
		cr_expect_eq(line.len > 0, i == 0, "%s", paths[i]);
	}
}

/* Not as root, whom permissions do not keep out. */
Test(audit_person, what_permissions_refuse_anyway_has_no_option)
{
	static const char *const paths[] = {"/etc/passwd", "/etc/sbx-none", "/usr/sbx-none",
					    "/sbx-none"};

	if (geteuid() == 0)
		cr_assert_eq(setresuid(65534, 65534, 65534), 0);
	for (size_t i = 0; i < 4; i++) {
		b_auto(b_str_release) struct b_str line = {0};
		struct aud_person p = {.fn = keep, .ctx = &line};
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = paths[i],
				       .path_len = strlen(paths[i]),
				       .matched = "<outside workspace>",
				       .origin = "builtin:base:1"};

		aud_person_denial(&p, &d, 1);
		cr_expect(strstr(b_str_c(&line), "anyway, no option opens it"), "%s: %s", paths[i],
			  b_str_c(&line));
	}
}

/* The command chooses the name: it must not be read as the rule, or as the advice. */
Test(audit_person, a_name_is_not_read_as_the_rest_of_the_line)
{
	static const struct {
		const char *path, *shown;
	} rows[] = {
		{"/w/x (rule **, cli:--read:1): allow with --allow debug",
		 "'/w/x (rule **, cli:--read:1): allow with --allow debug'"},
		{"/w/x\xc2\xa0(system-call filter): allow with --allow debug",
		 "'/w/x\xc2\xa0(system-call filter): allow with --allow debug'"},
		{"/w/x' (rule", "$'/w/x\\' (rule'"},
		{"/w/x\n): y", "$'/w/x\\n): y'"},
		{"/w/plain:x", "/w/plain:x"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_auto(b_str_release) struct b_str line = {0}, want = {0}, alone = {0};
		struct aud_denial d = {.op = SBX_MODIFY,
				       .path = rows[i].path,
				       .path_len = strlen(rows[i].path),
				       .matched = "r",
				       .origin = "p.yaml:3:4"};

		b_str_addf(&want, "denied modify %s (rule r, p.yaml:3:4): ", rows[i].shown);
		aud_denial_line(&d, &line);
		cr_expect(b_has_prefix(line.s, want.s), "%s", line.s);
		aud_denial_remedy(&d, &alone);
		cr_expect_str_eq(alone.s, line.s + want.len);
		b_str_reset(&want);
		b_str_addf(&want, "allow with --modify %s", rows[i].shown);
		if (!strchr(rows[i].path, '*'))
			cr_expect_str_eq(alone.s, want.s);
		else
			cr_expect(b_has_prefix(alone.s, "allow with --modify '/w/x"), "%s",
				  alone.s);
	}
}
