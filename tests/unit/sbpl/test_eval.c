/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the evaluator: sbpl/eval.c, rules.c, match.c, ops.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "sbpl/emit.h"
#include "sbpl/program.h"

static struct sbpl_program *prog;
static struct b_err err;
static const struct sbpl_param params[] = {{"HOME", "/Users/u"}, {"EMPTY", ""}};

static void teardown(void)
{
	sbpl_program_free(prog);
}

TestSuite(sbpl_eval, .fini = teardown);

static int load(const char *text)
{
	struct sbpl_source src = {"t.sb", text, strlen(text), params, 2};
	int rc;

	sbpl_program_free(prog);
	prog = NULL;
	rc = sbpl_program_new(&src, &prog, &err);
	return rc;
}

static void run(const char *text)
{
	cr_assert_eq(load(text), 0, "%s: %s", text, err.msg);
}

static bool ask(const char *op, const char *path, enum sbpl_vnode v, enum sbpl_model model)
{
	struct sbpl_question q = {sbpl_op_find(op), path, strlen(path), v, model};

	cr_assert_neq(q.op, SBPL_OP_NONE, "%s", op);
	return sbpl_program_allows(prog, &q, NULL);
}

static bool allows(const char *op, const char *path)
{
	return ask(op, path, SBPL_V_ANY, SBPL_MODEL_SPECIFIC);
}

static void refuses(const char *text, const char *part)
{
	err = (struct b_err){0};
	cr_expect_eq(load(text), -1, "%s", text);
	cr_expect(strstr(err.msg, part), "%s: %s", text, err.msg);
	cr_expect_eq(strncmp(err.msg, "t.sb", 4), 0, "%s", err.msg);
}

#define V1 "(version 1)(deny default)"

Test(sbpl_eval, last_match_wins_within_one_operation)
{
	run(V1 "(allow file-read* (subpath \"/a\"))(deny file-read* (subpath \"/a/b\"))"
	       "(allow file-read* (literal \"/a/b/c\"))");
	cr_expect(allows("file-read-data", "/a/x"));
	cr_expect_not(allows("file-read-data", "/a/b/x"));
	cr_expect(allows("file-read-data", "/a/b/c"));
	cr_expect_not(allows("file-read-data", "/ab"));
}

Test(sbpl_eval, a_later_parent_does_not_cancel_a_leaf)
{
	run(V1 "(deny file-write-unlink (subpath \"/a\"))(allow file-write* (subpath \"/a\"))");
	cr_expect_not(allows("file-write-unlink", "/a/x"));
	cr_expect(allows("file-write-data", "/a/x"));
	cr_expect(ask("file-write-unlink", "/a/x", SBPL_V_ANY, SBPL_MODEL_TEXTUAL));
}

Test(sbpl_eval, an_unfiltered_rule_does_not_override_filtered_ones)
{
	run(V1 "(allow file-write* (subpath \"/a\"))(deny file-write*)");
	cr_expect(allows("file-write-data", "/a/x"));
	cr_expect_not(allows("file-write-data", "/b"));
	cr_expect_not(ask("file-write-data", "/a/x", SBPL_V_ANY, SBPL_MODEL_TEXTUAL));
}

Test(sbpl_eval, deny_default_leaves_some_operations_open)
{
	run(V1);
	cr_expect(allows("file-link", "/a"));
	cr_expect(allows("file-clone", "/a"));
	cr_expect(allows("file-map-executable", "/a"));
	cr_expect_not(allows("file-read-data", "/a"));
	cr_expect_not(allows("mach-lookup", "/a"));
	run(V1 "(deny file-link)(allow file-link (subpath \"/a\"))");
	cr_expect_not(allows("file-link", "/b"));
	cr_expect(allows("file-link", "/a/b"));
	run(V1 "(deny file*)");
	cr_expect_not(allows("file-link", "/b"));
}

Test(sbpl_eval, writing_does_not_confer_setugid)
{
	run(V1 "(allow file-write* (subpath \"/\"))");
	cr_expect(allows("file-write-mode", "/x"));
	cr_expect_not(allows("file-write-setugid", "/x"));
}

Test(sbpl_eval, several_filters_are_any_of_them)
{
	run(V1 "(allow file-read* file-write-data (literal \"/a\" \"/b\") (prefix \"/pre\"))");
	cr_expect(allows("file-read-data", "/a") && allows("file-write-data", "/b"));
	cr_expect(allows("file-read-data", "/prefix"));
	cr_expect_not(allows("file-write-create", "/a"));
	run(V1 "(allow file-read* (require-all (subpath \"/a\") (require-not (subpath \"/a/b\"))"
	       " (require-any (vnode-type DIRECTORY) (regex #\"\\.c$\"))))");
	cr_expect(allows("file-read-data", "/a/x.c"));
	cr_expect_not(allows("file-read-data", "/a/x.h"));
	cr_expect_not(allows("file-read-data", "/a/b/x.c"));
	cr_expect(ask("file-read-data", "/a/d", SBPL_V_DIRECTORY, SBPL_MODEL_SPECIFIC));
	cr_expect_not(ask("file-read-data", "/a/d", SBPL_V_SYMLINK, SBPL_MODEL_SPECIFIC));
}

Test(sbpl_eval, dead_filters_match_nothing)
{
	run(V1 "(allow file-read* (subpath \"/a/\") (literal \"/b//c\") (subpath \"rel\"))");
	cr_expect_not(allows("file-read-data", "/a/x"));
	cr_expect_not(allows("file-read-data", "/b/c"));
	run(V1 "(allow file-read* (subpath \"/\"))");
	cr_expect(allows("file-read-data", "/") && allows("file-read-data", "/x/y"));
}

Test(sbpl_eval, the_language)
{
	run(V1 "(define home (param \"HOME\"))"
	       "(define (below dir name) (subpath (string-append dir \"/\" name)))"
	       "(allow file-read* (below home \"src\"))"
	       "(if (param \"NONE\") (allow file-read* (literal \"/none\")))"
	       "(if (defined? 'file-clone) (deny file-clone) (allow file-read* (literal \"/no\")))"
	       "(if (defined? 'file-frobnicate) (deny file-frobnicate))"
	       "(let ((a \"/l\") (b \"/m\")) (allow file-read* (literal a) (literal b)))"
	       "(let* ((a \"/s\") (b (string-append a \"t\"))) (allow file-read* (literal b)))"
	       "(cond ((string=? home \"x\") (deny default)) (else (allow sysctl-read)))"
	       "(if (and (not (equal? home \"x\")) (or #f #t)) (begin (allow file-read* "
	       "(literal \"/and\"))))"
	       "(allow process-exec (literal \"/bin/ps\") (with no-sandbox))"
	       "(deny file-write* (literal \"/q\") (with send-signal SIGKILL) (with message \"m\"))"
	       "(debug deny)(trace \"x\")");
	cr_expect(allows("file-read-data", "/Users/u/src/x"));
	cr_expect_not(allows("file-read-data", "/none"));
	cr_expect_not(allows("file-read-data", "/no"));
	cr_expect_not(allows("file-clone", "/x"));
	cr_expect(allows("file-read-data", "/m") && allows("file-read-data", "/st"));
	cr_expect(allows("sysctl-read", ""));
	cr_expect(allows("file-read-data", "/and"));
	cr_expect(allows("process-exec*", "/bin/ps"));
}

Test(sbpl_eval, filters_of_real_profiles_are_taken)
{
	run(V1 "(allow mach-lookup (global-name \"com.apple.logd\") (global-name-prefix \"a.\")"
	       " (xpc-service-name \"x\") (local-name \"y\"))"
	       "(allow sysctl-read (sysctl-name \"hw.ncpu\") (sysctl-name-prefix \"kern.\"))"
	       "(allow network-outbound (remote ip \"localhost:*\") (remote tcp \"*:443\")"
	       " (remote unix-socket (path \"/private/var/run/syslog\")))"
	       "(allow network-inbound (local ip \"*:*\"))"
	       "(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))"
	       "(allow iokit-open (iokit-user-client-class \"RootDomainUserClient\"))"
	       "(allow file-ioctl (ioctl-command 2147578994))"
	       "(allow signal (target self) (target same-sandbox))"
	       "(allow system-mac-syscall (require-all (mac-policy-name \"Sandbox\")"
	       " (mac-syscall-number 67)))"
	       "(allow ipc-posix-shm-read* (ipc-posix-name-regex #\"^apple\\.\"))"
	       "(allow user-preference-read (preference-domain \"kCFPreferencesAnyApplication\"))"
	       "(allow file-read* (extension \"com.apple.app-sandbox.read\") (file-mode #x04))");
	cr_expect_not(allows("file-read-data", "/x"));
	cr_expect_geq(sbpl_program_rules(prog), 13);
}

Test(sbpl_eval, our_groups_can_be_imported)
{
	run(V1 "(import \"sbx-base.sb\")(import \"sbx-tty.sb\")");
	cr_expect(allows("file-read-data", "/usr/lib/dyld"));
	cr_expect(allows("file-write-data", "/dev/null"));
	cr_expect(allows("file-write-data", "/dev/ttys012"));
	cr_expect_not(allows("file-write-data", "/usr/lib/dyld"));
	cr_expect_not(allows("file-read-data", "/Users/u/x"));
	refuses(V1 "(import \"system.sb\")", "no group of ours");
	refuses(V1 "(import \"sbx-../x.sb\")", "no group of ours");
}

Test(sbpl_eval, errors_are_those_of_sandbox_exec)
{
	refuses(V1 "(allow file-readx* (literal \"/\"))", "unbound variable: file-readx*");
	refuses(V1 "(allow file-read* (literalx \"/\"))", "unbound variable");
	refuses(V1 "(allow file-read* (literal (param \"NO\")))",
		"invalid data type of path filter; expected pattern, got boolean");
	refuses(V1 "(allow network-outbound (remote ip \"127.0.0.1:8080\"))",
		"host must be * or localhost in network address");
	refuses(V1 "(allow network-outbound (remote tcp \"github.com:443\"))",
		"host must be * or localhost");
	refuses(V1 "(allow network-inbound (local ip \"*:0\"))", "port 0 is an invalid port");
	refuses(V1 "(allow network-outbound (remote ip \"localhost:70000\"))", "invalid port");
	refuses(V1 "(allow file-read* (regex \"(?i)x\"))", "regex");
	refuses(V1 "(allow (literal \"/\"))", "about no operation");
	refuses(V1 "(allow file-read* \"/\")", "expected operations, filters and modifiers");
	refuses(V1 "(allow file-read* (vnode-type SPOON))", "unbound variable");
	refuses(V1 "(allow file-read* (with spoon))", "unknown modifier");
	refuses("(version 2)(deny default)", "version 1");
	refuses(V1 "(file-read* 1)", "not a procedure");
	refuses(V1 "(string-append \"a\" 1)", "must be: string");
	refuses("", "without a rule");
}

Test(sbpl_eval, what_does_not_end_is_refused)
{
	refuses(V1 "(define (f) (f))(f)", "nested too deep");
	refuses(V1 "(define (f n) (g n) (g n))(define (g n) (h n) (h n))(define (h n) (i n) (i n))"
		   "(define (i n) (j n) (j n))(define (j n) (f n) (f n))(f 1)",
		"too deep");
	refuses(V1 "(define a \"0123456789012345678901234567890123456789\")"
		   "(define (d s) (string-append s s s s s s s s))"
		   "(d (d (d (d (d a)))))",
		"too long");
}

Test(sbpl_eval, filters_of_filters_are_bounded)
{
	b_auto(b_str_release) struct b_str s = {0};

	b_str_add(&s, V1 "(define f0 (literal \"/a\"))");
	for (int i = 1; i < 40; i++)
		b_str_addf(&s, "(define f%d (require-any f%d f%d))", i, i - 1, i - 1);
	refuses(s.s, "too many filters");
	b_str_reset(&s);
	b_str_add(&s, V1 "(define f0 (literal \"/a\"))");
	for (int i = 1; i < 100; i++)
		b_str_addf(&s, "(define f%d (require-not f%d))", i, i - 1);
	refuses(s.s, "too many filters");
	b_str_reset(&s);
	b_str_add(&s, V1);
	for (int i = 0; i < 4001; i++)
		b_str_add(&s, "(deny file*)");
	refuses(s.s, "more than 4000 rules");
}

Test(sbpl_eval, the_deciding_line_is_named)
{
	struct sbpl_question q = {sbpl_op_find("file-read-data"), "/a/b", 4, SBPL_V_ANY,
				  SBPL_MODEL_SPECIFIC};
	unsigned line = 9;

	run("(version 1)\n(deny default)\n(allow file-read* (subpath \"/a\"))\n");
	cr_expect(sbpl_program_allows(prog, &q, &line));
	cr_expect_eq(line, 3);
	q.path = "/b";
	q.len = 2;
	cr_expect_not(sbpl_program_allows(prog, &q, &line));
	cr_expect_eq(line, 2);
}

Test(sbpl_eval, every_operation_has_its_parent)
{
	cr_expect_str_eq(sbpl_op_name(sbpl_op_parent(sbpl_op_find("file-write-unlink"))),
			 "file-write*");
	cr_expect_str_eq(sbpl_op_name(sbpl_op_parent(sbpl_op_find("file-write*"))), "file*");
	cr_expect_str_eq(sbpl_op_name(sbpl_op_parent(sbpl_op_find("file*"))), "default");
	cr_expect_str_eq(sbpl_op_name(sbpl_op_parent(sbpl_op_find("file-write-setugid"))),
			 "default");
	cr_expect_eq(sbpl_op_parent(sbpl_op_find("default")), SBPL_OP_NONE);
	cr_expect_eq(sbpl_op_find("file-unlink"), sbpl_op_find("file-write-unlink"));
	for (size_t i = 1; i < sbpl_op_count(); i++)
		cr_expect_neq(sbpl_op_parent((int)i), SBPL_OP_NONE, "%s", sbpl_op_name((int)i));
}

static void run_file(const char *path, const struct sbpl_param *p, size_t n)
{
	b_auto(b_str_release) struct b_str text = {0};

	sbpl_program_free(prog);
	prog = NULL;
	cr_assert_eq(b_read_file(path, 1 << 16, &text, &err), 0, "%s", err.msg);
	cr_assert_eq(
		sbpl_program_new(&(struct sbpl_source){path, text.s, text.len, p, n}, &prog, &err),
		0, "%s", err.msg);
}

Test(sbpl_eval, profiles_of_real_shape)
{
	static const struct sbpl_param agent[] = {
		{"HOME", "/Users/u"}, {"PROJECT", "/Users/u/p"}, {"PROXY_PORT", "8080"}};
	static const struct sbpl_param build[] = {{"OUT", "/Users/u/out"}, {"NET", "none"}};

	run_file("tests/vectors/profiles/agent.sb", agent, 3);
	cr_expect(allows("file-read-data", "/Users/u/.gitconfig"));
	cr_expect(allows("file-read-data", "/private/tmp/agent-12/x"));
	cr_expect_not(allows("file-read-data", "/private/tmp/agent-x"));
	cr_expect_not(allows("file-read-data", "/Users/u/.ssh/id"));
	cr_expect(allows("file-write-unlink", "/Users/u/p/.git/index"));
	cr_expect_not(allows("file-write-unlink", "/Users/u/p/sub/.git/hooks/x"));
	run_file("tests/vectors/profiles/build.sb", build, 2);
	cr_expect(allows("file-read-data", "/anything"));
	cr_expect(allows("file-write-data", "/Users/u/out/x"));
	cr_expect_not(allows("file-write-data", "/Users/u/out/lock"));
	cr_expect_not(allows("file-write-data", "/Users/u/x"));
	cr_expect(allows("file-write-data", "/dev/fd/3"));
	cr_expect_not(allows("process-exec*", "/usr/bin/sudo"));
	run_file("tests/vectors/profiles/helper.sb", NULL, 0);
	cr_expect(allows("file-read-data", "/Applications/Some App.app/Contents/Frameworks/x"));
	cr_expect(allows("file-read-metadata", "/Users/u/x"));
	cr_expect_not(allows("file-read-data", "/Users/u/x"));
	cr_expect_not(allows("device-camera", ""));
	cr_expect(ask("file-read-data", "/Library/Fonts/a.ttf", SBPL_V_REGULAR_FILE,
		      SBPL_MODEL_SPECIFIC));
}

/* Each file under tests/vectors/profiles uses other constructs: a path it allows and one it does
 * not, of the operation named. */
Test(sbpl_eval, profiles_of_many_programs)
{
	static const struct sbpl_param p[] = {
		{"BUNDLE", "/Applications/B.app"},
		{"LOGGING", "TRUE"},
		{"DATA", "/Users/u/db"},
		{"TMP", "/private/tmp/t"},
		{"PROGRAM", "/Users/u/a.out"},
		{"BOX", "/Users/u/box"},
		{"PREFIX", "/opt/p"},
		{"PORT", "8888"},
		{"KIND", "midi"},
		{"TREE", "/Users/u/tree"},
		{"NET", "no"},
	};
	static const struct {
		const char *file, *op, *allowed, *denied;
	} rows[] = {
		{"browser", "file-read-data", "/System/Library/Fonts/x", "/System/Library/Frame"},
		{"browser", "file-write-data", "/dev/ttys001", "/dev/ttys002"},
		{"database", "file-write-create", "/Users/u/db/x", "/Users/u/dbx"},
		{"database", "file-read-data", "/Users/u/db", "/Users/u"},
		{"editor", "file-write-data", "/Users/u/work/x", "/Users/u/x"},
		{"editor", "file-read-data", "/Users/u/x", "/Users/u/.aws/credentials"},
		{"editor", "process-exec*", "/usr/bin/x", "/Users/u/x"},
		{"fetch", "file-read-data", "/private/etc/hosts", "/private/etc/passwd"},
		{"fetch", "file-write-data", "/private/tmp/t/build/x", "/private/tmp/t/x"},
		{"grader", "file-write-data", "/Users/u/box/x", "/Users/u/box/answers"},
		{"grader", "process-exec*", "/Users/u/a.out", "/bin/sh"},
		{"installer", "file-write-data", "/opt/p/x", "/opt/pkg/x"},
		{"installer", "file-write-data", "/private/var/tmp/x", "/private/var/db/x"},
		{"notebook", "file-write-data", "/Users/u/Library/Caches/x",
		 "/Users/u/Library/Caches/x.lock"},
		{"plugin", "file-read-data", "/Library/MIDI/x", "/Library/Audio/x"},
		{"proxy", "file-read-data", "/opt/proxy/x", "/opt/proxies"},
		{"quoting", "file-read-data", "/Users/u/a \"b\" \\ c", "/Users/u/a b"},
		{"quoting", "file-read-data", "/Users/u/tabA", "/Users/u/tab"},
		{"quoting", "file-read-data", "/Users/u/part/x", "/Users/u/parts"},
		{"quoting", "file-read-data", "/Users/u/a.txt", "/Users/u/a/a.txt"},
		{"quoting", "file-read-data", "/Users/u/raw.c", "/Users/u/rawxc"},
		{"shell", "file-write-data", "/dev/fd/12", "/dev/fd/12x"},
		{"shell", "file-ioctl", "/dev/ttys003", "/dev/disk0"},
		{"tests", "file-write-unlink", "/Users/u/tree/x", "/Users/u/tree/keep/x"},
		{"tests", "file-link", "/Users/u/tree/x", "/Users/u/x"},
		{"tests", "file-map-executable", "/usr/lib/x", "/Users/u/tree/x"},
	};
	char path[80];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(path, sizeof path, "tests/vectors/profiles/%s.sb", rows[i].file);
		run_file(path, p, sizeof p / sizeof *p);
		cr_expect(allows(rows[i].op, rows[i].allowed), "%s: %s", path, rows[i].allowed);
		cr_expect_not(allows(rows[i].op, rows[i].denied), "%s: %s", path, rows[i].denied);
	}
}
