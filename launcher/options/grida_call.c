/* SPDX-License-Identifier: Apache-2.0 */
/* grida_call.c - see grida_call.h. */
#include "launcher/options/grida_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "launcher/exec/exec.h"
#include "launcher/options/options.h"
#include "launcher/run/dirs.h"
#include "policy/document/settings.h"
#include "policy/rules/workspace.h"

bool lau_call_is_asked(const struct lau_options *o)
{
	for (size_t i = 0; i < o->policy.presets.n; i++)
		if (strcmp(o->policy.presets.v[i], "grida-call") == 0)
			return true;
	return false;
}

static int close_stdin(struct b_err *err)
{
	b_auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return b_fail(err, B_SYSTEM, errno, "/dev/null: %s", strerror(errno));
	if (null == STDIN_FILENO) { /* it was closed: this is it */
		null = -1;
		(void)fcntl(STDIN_FILENO, F_SETFD, 0);
	}
	return 0;
}

int lau_call_settle(struct lau_options *o, struct b_err *err)
{
	if (!lau_call_is_asked(o))
		return 0;
	if (!o->timeout_ms)
		o->timeout_ms = LAU_CALL_TIMEOUT_MS;
	if (o->timeout_ms > LAU_CALL_LONGEST_MS)
		o->timeout_ms = LAU_CALL_LONGEST_MS;
	o->kill_after_ms = LAU_CALL_GRACE_MS;
	if (!o->capture_limit)
		o->capture_limit = LAU_CALL_OUTPUT;
	o->capture_joint = true;
	o->capture_over = LAU_OVER_DROP;
	o->is_call = true;
	return o->stdin_from || o->print_argv ? 0 : close_stdin(err);
}

/* ---- the gates ---- */

static bool is_in(const char *path, const char *dir)
{
	return sbx_path_under(path, strlen(path), dir, strlen(dir));
}

static int check_overlap(const struct lau_dirs *d, const char *data, struct b_err *err)
{
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (is_in(data, d->workspaces[i]) || is_in(d->workspaces[i], data))
			return b_fail(err, B_WORKSPACE, 0,
				      "%s and the data of the host, %s, overlap: open another "
				      "workspace",
				      d->workspaces[i], data);
	return 0;
}

static int check_cwd(const struct lau_dirs *d, const char *cwd, struct b_err *err)
{
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (is_in(cwd, d->workspaces[i]))
			return 0;
	return b_fail(err, B_WORKSPACE, 0,
		      "cwd-not-in-workspace: %s is in no workspace that is open: --chdir", cwd);
}

static int check_word(struct b_arena *a, const char *word, const char *cwd, const char *data,
		      struct b_err *err)
{
	const char *path;

	if (!*word || *word == '-' || !strchr(word, '/'))
		return 0;
	path = *word == '/' ? word : b_arena_printf(a, "%s/%s", cwd, word);
	if (!is_in(pol_canonical(a, path), data))
		return 0;
	return b_fail(err, B_NOEXEC, 0,
		      "arg-in-protected-root: Argument rejected: resolves inside a protected "
		      "directory.");
}

int lau_call_check(const struct lau_options *o, const struct lau_dirs *d, struct b_err *err)
{
	b_auto(b_arena_release) struct b_arena a = {0};
	const char *data;
	char cwd[PATH_MAX];

	if (!o->is_call)
		return 0;
	data = pol_var_dir(&a, "GRIDA_USER_DATA");
	if (!data)
		return b_fail(err, B_WORKSPACE, 0,
			      "grida-call: the directory of the host's data is not known: set "
			      "GRIDA_USER_DATA");
	if (!getcwd(cwd, sizeof cwd))
		return b_fail(err, B_WORKSPACE, errno, "cwd-resolve-failed: %s", strerror(errno));
	if (check_overlap(d, data, err) < 0 || check_cwd(d, cwd, err) < 0)
		return -1;
	for (char **w = o->argv + 1; *w; w++)
		if (check_word(&a, *w, cwd, data, err) < 0)
			return -1;
	return 0;
}

/* ---- the result ---- */

static const char *signal_name(int signo)
{
	static const struct {
		int signo;
		const char *name;
	} names[] = {{SIGTERM, "SIGTERM"}, {SIGKILL, "SIGKILL"}, {SIGINT, "SIGINT"},
		     {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"},
		     {SIGABRT, "SIGABRT"}, {SIGPIPE, "SIGPIPE"}, {SIGBUS, "SIGBUS"},
		     {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},	 {SIGALRM, "SIGALRM"},
		     {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
		     {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGTRAP, "SIGTRAP"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].signo == signo)
			return names[i].name;
	return "SIG?";
}

static void put_text(struct b_json *j, const char *key, const struct b_str *bytes)
{
	b_auto(b_str_release) struct b_str text = {0};

	lau_exec_text(b_str_c(bytes), bytes->len, &text);
	b_json_key(j, key);
	b_json_strn(j, b_str_c(&text), text.len);
}

static void put_command(struct b_json *j, char *const *argv)
{
	char cwd[PATH_MAX];

	b_json_key(j, "cmd");
	b_json_str(j, argv[0]);
	b_json_key(j, "args");
	b_json_open(j, '[');
	for (char *const *w = argv + 1; *w; w++)
		b_json_str(j, *w);
	b_json_close(j, ']');
	b_json_key(j, "cwd");
	b_json_str(j, getcwd(cwd, sizeof cwd) ? cwd : "");
}

void lau_call_json(const struct lau_exec_result *r, char *const *argv, struct b_str *out)
{
	b_auto(b_str_release) struct b_str errors = {0};
	struct b_json j = {.out = out};
	bool failed = r->error.kind != B_OK;

	b_str_addn(&errors, b_str_c(&r->err), r->err.len);
	if (failed)
		b_str_addf(&errors, "\n[spawn error] %s", r->error.msg);
	b_json_open(&j, '{');
	put_command(&j, argv);
	b_json_key(&j, "exit_code");
	if (failed || r->has_exit_code)
		b_json_i64(&j, failed ? -1 : r->exit_code);
	else
		b_json_null(&j);
	b_json_key(&j, "signal");
	if (r->signal)
		b_json_str(&j, signal_name(r->signal));
	else
		b_json_null(&j);
	put_text(&j, "stdout", &r->out);
	put_text(&j, "stderr", &errors);
	b_json_key(&j, "duration_ms");
	b_json_i64(&j, (int64_t)r->duration_ms);
	b_json_key(&j, "timed_out");
	b_json_bool(&j, r->timed_out);
	b_json_key(&j, "truncated");
	b_json_bool(&j, r->out_is_cut || r->err_is_cut);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}
