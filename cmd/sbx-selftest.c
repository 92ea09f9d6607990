/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx-selftest - tries to get out of the sandbox, on the user's own host. `sbx-launch --selftest`
 * starts it, so that the launcher carries no attacks:
 *
 *	sbx-selftest LAUNCHER [--json] [OPTION...]	all probes, confined with these options
 *	sbx-selftest --probe NAME DIR			one of them, itself the attacker
 *	sbx-selftest --probe outside DIR		the process outside that is attacked
 *
 * Every probe first bare, which must succeed (the positive control), then under the launcher, which
 * must refuse it and leave the outside as it was. Prints a table or JSON. Status 0: all held; 1:
 * one got through; 125: something could not be tested.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tree.h"
#include "selftest/probes.h"
#include "launcher/run/dirs.h"

#define ATTEMPT_S 20 /* a probe takes milliseconds */
#define ERR_FILE  "run/err"

enum verdict { HELD, THROUGH, SKIPPED, UNTESTED, VERDICTS };
static const char *const verdict_names[VERDICTS] = {
	[HELD] = "held", [THROUGH] = "THROUGH", [SKIPPED] = "skipped", [UNTESTED] = "untested"};

struct test {
	char *self;	      /* this program */
	const char *launcher; /* what confines */
	char dir[64];
	char **options; /* of the person, for the confined runs */
	size_t noptions;
	int outside_in; /* the process outside lives until it closes */
	pid_t outside;
	bool is_json;
	unsigned count[VERDICTS];
	struct b_json json;
	struct b_str out;
};

/* ---- one process ---- */

/* A terminal of its own as standard input. */
static int take_terminal(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
	char *name;

	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 || !(name = ptsname(fd)))
		return -1;
	/* the master stays open, inherited by nobody else, until we are gone */
	if (fcntl(fd, F_SETFD, 0) < 0 || dup2(fd, 10) < 0 || setsid() < 0)
		return -1;
	slave = open(name, O_RDWR | O_CLOEXEC);
	return slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || dup2(slave, STDIN_FILENO) < 0 ? -1
											    : 0;
}

/* Where a probe stands: the workspace, nothing to read, two descriptors of the outside open. */
static int take_place(unsigned needs)
{
	int err = open(st_at(ERR_FILE), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), file, dir;

	if (err < 0 || null < 0 || chdir(st_at("ws")) < 0)
		return -1;
	file = open(st_at("out/f"), O_WRONLY | O_APPEND | O_CLOEXEC);
	dir = open(st_at("out"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(err, 2) < 0 ||
	    dup2(file, 8) < 0 || dup2(dir, 9) < 0)
		return -1;
	return needs & ST_NEEDS_TTY ? take_terminal() : 0;
}

static void take_home(void)
{
	setenv("HOME", st_at("home"), 1);
	setenv("XDG_STATE_HOME", st_at("state"), 1);
	setenv("XDG_CACHE_HOME", st_at("cache"), 1);
}

/* execv(3) only reads, but its prototype cannot say so. */
static _Noreturn void become(const char *const *argv)
{
	char *const *v;

	memcpy(&v, &argv, sizeof v);
	execv(v[0], v);
	_exit(124);
}

/* Its status as a shell has it, -1 = none. */
static int run(const char *const *argv, unsigned needs)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		take_home();
		if (take_place(needs) < 0)
			_exit(124);
		alarm(2 * ATTEMPT_S); /* kept over exec(2) */
		become(argv);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_bare(struct test *t, const char *name, unsigned needs)
{
	const char *const argv[] = {t->self, "--probe", name, t->dir, NULL};

	return run(argv, needs);
}

/* Without the shim: the floor alone is tested, and the log of so many runs would be of no use. */
static int run_confined(struct test *t, const char *const *command, unsigned needs)
{
	b_auto_free const char **argv = b_calloc(t->noptions + 24, sizeof *argv);
	b_auto_free char *ws = b_strdup(st_at("ws")), *hidden = b_strdup(st_at("ws/hidden"));
	size_t n = 0, i;

	argv[n++] = t->launcher;
	for (i = 0; i < t->noptions; i++)
		argv[n++] = t->options[i];
	argv[n++] = "-q";
	argv[n++] = "--no-shim";
	argv[n++] = "--audit-level";
	argv[n++] = "none";
	argv[n++] = "--timeout";
	argv[n++] = "20s";
	argv[n++] = "--workspace";
	argv[n++] = ws;
	if (needs & ST_NEEDS_DENY) {
		argv[n++] = "--deny-read";
		argv[n++] = hidden;
	}
	argv[n++] = "--";
	for (i = 0; command[i]; i++)
		argv[n++] = command[i];
	return run(argv, needs);
}

/* ---- one probe ---- */

#define CONTROL_TRIES 5

/* What was said last, without the probe's name before it. */
static void last_words(struct b_str *out)
{
	char text[4096], *line;
	b_auto_fd int fd = open(st_at(ERR_FILE), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);

	b_str_reset(out);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (strncmp(line, "sbx-launch: ", 12) != 0 && strstr(line, ": "))
		line = strstr(line, ": ") + 2;
	b_str_add_visible(out, line, strlen(line));
}

static int state_of(char **out)
{
	size_t size;
	FILE *f = open_memstream(out, &size);
	int rc;

	if (!f)
		return -1;
	rc = st_state(f);
	return fclose(f) < 0 ? -1 : rc;
}

/* The positive control. A race can be lost on a busy machine by whoever nothing stops. */
static int control(struct test *t, const struct st_probe *p)
{
	int status = -1;

	for (unsigned tries = 0; status != 0 && tries < CONTROL_TRIES; tries++)
		if (st_make_fixture() < 0 || (status = run_bare(t, p->name, p->needs)) < 0)
			return -1;
	return status;
}

static enum verdict attack(struct test *t, const struct st_probe *p, struct b_str *why)
{
	const char *const command[] = {t->self, "--probe", p->name, t->dir, NULL};
	b_auto_free char *before = NULL, *after = NULL;
	int status;

	b_str_reset(why);
	if (p->needs & ST_NEEDS_ROOT && geteuid() != 0) {
		b_str_add(why, "the kernel refuses ordinary users anyway");
		return SKIPPED;
	}
	status = control(t, p);
	if (status < 0)
		return UNTESTED;
	if (status != 0) {
		last_words(why);
		return p->needs & ST_NEEDS_HOST ? SKIPPED : UNTESTED;
	}
	if (st_make_fixture() < 0 || state_of(&before) < 0)
		return UNTESTED;
	status = run_confined(t, command, p->needs);
	last_words(why);
	if (status == 0 || state_of(&after) < 0)
		return status == 0 ? THROUGH : UNTESTED;
	/* 1: an errno. SIGSYS: killed by the filter */
	if (status != 1 && status != 128 + SIGSYS)
		return UNTESTED;
	if (strcmp(before, after) == 0)
		return HELD;
	b_str_reset(why);
	b_str_add(why, "refused, but the outside has changed");
	return THROUGH;
}

static void tell(struct test *t, const char *name, enum verdict v, const struct b_str *why)
{
	t->count[v]++;
	if (t->is_json) {
		b_json_open(&t->json, '{');
		b_json_key(&t->json, "probe");
		b_json_str(&t->json, name);
		b_json_key(&t->json, "result");
		b_json_str(&t->json, v == THROUGH ? "through" : verdict_names[v]);
		b_json_key(&t->json, "detail");
		b_json_str(&t->json, b_str_c(why));
		b_json_close(&t->json, '}');
		return;
	}
	b_str_addf(&t->out, "%-9s %-26s %s\n", verdict_names[v], name, b_str_c(why));
	(void)b_write_all(STDOUT_FILENO, b_str_c(&t->out), t->out.len);
	b_str_reset(&t->out);
}

/* ---- all of them ---- */

/* As a program of its own, so that its environment is one that /proc shows. */
static int start_outside(struct test *t, struct b_err *err)
{
	const char *const argv[] = {t->self, "--probe", "outside", t->dir, NULL};
	int in[2], status;

	if (pipe2(in, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	t->outside = fork();
	if (t->outside == 0) {
		dup2(in[0], STDIN_FILENO);
		setenv("MARKER", ST_SECRET, 1);
		become(argv);
	}
	close(in[0]);
	t->outside_in = in[1];
	while (access(st_at("run/outside"), F_OK) < 0) {
		if (t->outside < 0 || waitpid(t->outside, &status, WNOHANG) != 0)
			return b_fail(err, B_SYSTEM, 0, "selftest: no process outside");
		usleep(1000);
	}
	return 0;
}

/* A sandbox that cannot start would refuse everything. */
static int check_sandbox(struct test *t, struct b_err *err)
{
	static const char *const command[] = {"/bin/sh", "-c",
					      "echo x >made && cat made >/dev/null", NULL};
	b_auto(b_str_release) struct b_str why = {0};

	if (run_confined(t, command, 0) == 0)
		return 0;
	last_words(&why);
	return b_fail(err, B_FLOOR, 0, "selftest: nothing can be run confined: %s", b_str_c(&why));
}

static int set_up(struct test *t, struct b_err *err)
{
	static const char *const dirs[] = {"ws",    "out",   "run",	 "home",
					   "state", "cache", "home/.ssh"};

	t->self = realpath("/proc/self/exe", NULL);
	snprintf(t->dir, sizeof t->dir, "/tmp/sbx-selftest-XXXXXX");
	if (!t->self || !mkdtemp(t->dir)) {
		t->dir[0] = '\0';
		return b_fail(err, B_SYSTEM, errno, "selftest: /tmp: %s", strerror(errno));
	}
	st_base(t->dir);
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		(void)mkdir(st_at(dirs[i]), 0700);
	if (st_make_fixture() < 0)
		return b_fail(err, B_SYSTEM, errno, "selftest: %s: %s", t->dir, strerror(errno));
	return start_outside(t, err) < 0 ? -1 : check_sandbox(t, err);
}

static void clean_up(struct test *t)
{
	if (t->outside_in > 0)
		close(t->outside_in);
	if (t->outside > 0)
		while (waitpid(t->outside, NULL, 0) < 0 && errno == EINTR)
			;
	if (t->dir[0])
		(void)b_tree_remove(t->dir, NULL);
	free(t->self);
	free(t->options);
	b_str_release(&t->out);
}

static void run_all(struct test *t)
{
	b_auto(b_str_release) struct b_str why = {0};
	const struct st_probe *p;

	for (size_t i = 0; (p = st_probe_at(i)); i++)
		tell(t, p->name, attack(t, p, &why), &why);
}

static int show(struct test *t)
{
	if (t->is_json) {
		b_json_close(&t->json, ']');
		for (int v = 0; v < VERDICTS; v++) {
			b_json_key(&t->json, v == THROUGH ? "through" : verdict_names[v]);
			b_json_u64(&t->json, t->count[v]);
		}
		b_json_close(&t->json, '}');
		b_str_addc(&t->out, '\n');
	} else {
		b_str_addf(&t->out, "%u held, %u got through, %u skipped, %u could not be tested\n",
			   t->count[HELD], t->count[THROUGH], t->count[SKIPPED],
			   t->count[UNTESTED]);
	}
	(void)b_write_all(STDOUT_FILENO, b_str_c(&t->out), t->out.len);
	return t->count[THROUGH] ? 1 : t->count[UNTESTED] ? 125 : 0;
}

static void take_options(struct test *t, int argc, char **argv)
{
	t->launcher = argv[1];
	t->options = b_calloc((size_t)argc, sizeof *t->options);
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "--json") == 0)
			t->is_json = true;
		else
			t->options[t->noptions++] = argv[i];
}

static int test_all(struct test *t)
{
	struct b_err err;

	if (set_up(t, &err) < 0)
		return b_report("sbx-launch", &err);
	if (t->is_json) {
		b_json_open(&t->json, '{');
		b_json_key(&t->json, "probes");
		b_json_open(&t->json, '[');
	}
	run_all(t);
	return show(t);
}

int main(int argc, char **argv)
{
	struct sigaction waitable = {.sa_handler = SIG_DFL};
	struct test t = {.is_json = false};
	int status;

	if (argc == 4 && strcmp(argv[1], "--probe") == 0) {
		st_base(argv[3]);
		return strcmp(argv[2], "outside") == 0 ? st_serve_outside() : st_run(argv[2]);
	}
	if (argc < 2 || argv[1][0] != '/') {
		struct b_err err;

		b_fail(&err, B_USAGE, 0, "sbx-selftest: run sbx-launch --selftest");
		return b_report("sbx-launch", &err);
	}
	sigaction(SIGCHLD, &waitable, NULL);
	take_options(&t, argc, argv);
	t.json.out = &t.out;
	status = test_all(&t);
	clean_up(&t);
	return status;
}
