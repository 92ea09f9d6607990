/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - see exec.h. */
#include "launcher/exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "launcher/options/grida_call.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"

enum { STDIN_LIMIT = 1 << 30 };

/* Orbit's name for the limit, which its users know. */
static const char limit_env[] = "ORBIT_EXEC_OUTPUT_CAPTURE_LIMIT_BYTES";

int lau_capture_set_limit(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;
	uint64_t n = LAU_CAPTURE_ALL;

	if (strcmp(value, "none") != 0 && lau_bound_parse(LAU_BOUND_FSIZE, value, &n, err) < 0)
		return -1;
	if (n == 0)
		return b_fail(err, B_USAGE, 0, "`%s`: expected at least 1, or none", value);
	o->capture_limit = (size_t)n;
	return 0;
}

/* ---- where it goes ---- */

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int find_fd(const char *text, struct lau_capture *c, struct b_err *err)
{
	unsigned long long n;

	if (b_parse_u64(text, INT_MAX, &n) < 0)
		return b_fail(err, B_USAGE, 0, "--result-json: `%s` is not a descriptor number",
			      text);
	c->fd = fcntl((int)n, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (c->fd < 0 && errno == EBADF)
		return b_fail(err, B_USAGE, 0, "--result-json: descriptor %s is not open", text);
	/* its reader would wait for the command's copy, unless that is one of its own streams */
	if (c->fd < 0 || (n > STDERR_FILENO && fcntl((int)n, F_SETFD, FD_CLOEXEC) < 0))
		return b_fail(err, B_SYSTEM, errno, "--result-json: %s", strerror(errno));
	return 0;
}

/* Where a symlink could be followed: "." for a bare name. malloc'ed. */
static char *dir_of(const char *path)
{
	const char *name = last_of(path);

	return name == path ? b_strdup(".") : b_strndup(path, (size_t)(name - path));
}

/* The directory as it is now: what the command makes of its name later leads nowhere else. */
static int find_dir(const char *path, struct lau_capture *c, struct b_err *err)
{
	b_auto_free char *dir = dir_of(path);

	c->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir < 0 || faccessat(c->dir, ".", W_OK, AT_EACCESS) < 0)
		return b_fail(err, B_SYSTEM, errno, "--result-json: %s: %s", path, strerror(errno));
	return 0;
}

static int open_special(const char *path, int flags, struct lau_capture *c, struct b_err *err)
{
	c->fd = lau_outfile_open(path, O_WRONLY | flags);
	if (c->fd >= 0)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "--result-json: %s: %s", path,
		      errno == ENXIO ? "no program has it open for reading" : strerror(errno));
}

/* A link, and a file, is replaced, not followed or opened: it may be an earlier command's. What has
 * no contents of its own is written to, and so is what stands for a descriptor, as a shell would.
 */
static int find_target(const char *where, struct lau_capture *c, struct b_err *err)
{
	struct stat st;

	if (*where && where[strspn(where, "0123456789")] == '\0')
		return find_fd(where, c, err);
	if (lau_outfile_is_descriptor(where))
		return open_special(where, 0, c, err);
	if (!*last_of(where) || b_has_prefix(where, "/proc/") ||
	    (stat(where, &st) == 0 && S_ISDIR(st.st_mode)))
		return b_fail(err, B_USAGE, 0, "--result-json: `%s` is not a file", where);
	c->is_named = true;
	c->is_sure = lau_outfile_is_plain(where);
	if (lstat(where, &st) < 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return find_dir(where, c, err);
	return open_special(where, O_NOFOLLOW, c, err);
}

static int read_stdin(const char *file, struct b_str *out, struct b_err *err)
{
	if (lau_infile_check("--stdin", file, err) < 0)
		return -1;
	if (b_read_file(file, STDIN_LIMIT, out, err) < 0)
		return b_wrap(err, "--stdin");
	return 0;
}

static bool is_word(const char *s, const char *word)
{
	return s && strcmp(s, word) == 0;
}

int lau_capture_find(const struct lau_options *o, struct lau_capture *c, struct b_err *err)
{
	*c = (struct lau_capture)LAU_CAPTURE_INIT;
	c->o = o;
	c->start_ms = b_now_ms();
	if (!o->result_json || o->dry_run)
		return 0;
	if (find_target(o->result_json, c, err) < 0)
		return -1;
	c->is_asked = true;
	if (o->stdin_from && !is_word(o->stdin_from, "inherit") && !is_word(o->stdin_from, "null"))
		return read_stdin(o->stdin_from, &c->bytes, err);
	return 0;
}

/* A FIFO that the command may put there could be anybody's. A device it cannot make. */
static int check_special(struct lau_capture *c, struct pol_engine *e, struct b_err *err)
{
	struct pol_answer answer;
	struct stat st;

	if (c->fd < 0 || fstat(c->fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return 0;
	if (pol_engine_check(e, SBX_MODIFY, c->o->result_json, &answer, err) < 0)
		return -1;
	if (!answer.allowed)
		return 0;
	return b_fail(err, B_FLOOR, 0,
		      "--result-json %s: the command may replace this FIFO (rule `%s`, %s): name a "
		      "descriptor, or a FIFO in a directory that the command may not modify",
		      c->o->result_json, answer.matched, answer.origin);
}

/* Was the directory swapped between the two looks? */
static int check_same(const struct lau_capture *c, const char *real, struct b_err *err)
{
	struct stat held, there;

	if (c->dir < 0 || (fstat(c->dir, &held) == 0 && stat(real, &there) == 0 &&
			   held.st_dev == there.st_dev && held.st_ino == there.st_ino))
		return 0;
	return b_fail(err, B_FLOOR, 0,
		      "--result-json %s: its directory was replaced while the launcher opened it: "
		      "try again",
		      c->o->result_json);
}

int lau_capture_check(struct lau_capture *c, struct pol_engine *e, struct b_err *err)
{
	b_auto_free char *dir = c->is_named ? dir_of(c->o->result_json) : NULL;
	const char *real;

	if (!c->is_asked || !c->is_named)
		return 0;
	c->is_sure = lau_outfile_check(e, "--result-json", dir, &real, err) == 0 &&
		     check_same(c, real, err) == 0 && check_special(c, e, err) == 0;
	return c->is_sure ? 0 : -1;
}

/* ---- the streams ---- */

static int limit_of(const struct lau_options *o, size_t *out, struct b_err *err)
{
	const char *text = getenv(limit_env);
	unsigned long long n;

	*out = o->capture_limit;
	if (o->capture_limit || !text || !*text)
		return 0;
	if (b_parse_u64(text, SIZE_MAX, &n) < 0 || n == 0)
		return b_fail(err, B_USAGE, 0, "%s: `%s` is not a number of bytes", limit_env,
			      text);
	*out = (size_t)n;
	return 0;
}

int lau_capture_open(struct lau_capture *c, char *const *envp, struct b_err *err)
{
	struct lau_streams s = {.bytes = c->bytes.s,
				.nbytes = c->bytes.len,
				.is_joint = c->o->capture_joint,
				.over = (enum lau_over)c->o->capture_over};

	if (!c->is_asked)
		return 0;
	if (limit_of(c->o, &s.limit, err) < 0)
		return -1;
	if (is_word(c->o->stdin_from, "null"))
		s.in = LAU_STDIN_NULL;
	else if (c->o->stdin_from && !is_word(c->o->stdin_from, "inherit"))
		s.in = LAU_STDIN_BYTES;
	if (c->o->tee) {
		lau_secrets_from(&c->secrets, envp);
		/* what it was not given it may find elsewhere */
		lau_secrets_from(&c->secrets, lau_os_environ());
		s.tee = &c->secrets;
	}
	c->is_open = lau_exec_io_open(&s, &c->io, err) == 0;
	return c->is_open ? 0 : -1;
}

/* ---- the result ---- */

/* Nobody of the run is left to come between. */
static int put_in_place(const struct lau_capture *c, const struct b_str *text, struct b_err *err)
{
	const char *path = c->o->result_json, *name = last_of(path);
	char temporary[64];
	b_auto_fd int fd = -1;

	snprintf(temporary, sizeof temporary, ".sbx-result.%d", (int)getpid());
	(void)unlinkat(c->dir, temporary, 0);
	fd = openat(c->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && b_write_all(fd, text->s, text->len) == 0 &&
	    renameat(c->dir, temporary, c->dir, name) == 0)
		return 0;
	b_fail(err, B_SYSTEM, errno, "--result-json: %s: %s", path, strerror(errno));
	if (fd >= 0)
		(void)unlinkat(c->dir, temporary, 0);
	return -1;
}

static int write_result(const struct lau_capture *c, const struct b_str *text, struct b_err *err)
{
	if (c->dir >= 0)
		return put_in_place(c, text, err);
	(void)signal(SIGPIPE, SIG_IGN);
	if (b_write_all(c->fd, text->s, text->len) == 0 || errno == EPIPE)
		return 0;
	return b_fail(err, B_SYSTEM, errno, "--result-json: %s: %s", c->o->result_json,
		      strerror(errno));
}

int lau_capture_end(struct lau_capture *c, const struct lau_outcome *o, const char *members,
		    struct b_err *err)
{
	b_auto(lau_exec_result_release) struct lau_exec_result r = {0};
	b_auto(b_str_release) struct b_str text = {0};

	/* what kept the run from starting is on standard error, too */
	if (!c->is_asked || (c->is_named && !c->is_sure))
		return 0;
	r.is_plain = c->o->is_call;
	r.members = members;
	if (c->is_open)
		lau_exec_io_finish(&c->io);
	lau_exec_result_fill(&r, o, c->is_open ? &c->io : NULL);
	if (c->o->argv && (r.error.kind == B_NOTFOUND || r.error.kind == B_NOEXEC))
		(void)lau_exec_spawn_failed(c->o->argv[0], &r.error);
	lau_redact_error(&r.error, lau_os_environ());
	r.duration_ms = b_now_ms() - c->start_ms;
	if (c->o->is_call && c->o->argv)
		lau_call_json(&r, c->o->argv, &text);
	else
		lau_exec_result_json(&r, &text);
	return write_result(c, &text, err);
}

void lau_capture_release(struct lau_capture *c)
{
	if (c->is_open)
		lau_exec_io_release(&c->io);
	lau_secrets_release(&c->secrets);
	b_str_release(&c->bytes);
	if (c->fd >= 0)
		close(c->fd);
	if (c->dir >= 0)
		close(c->dir);
	*c = (struct lau_capture)LAU_CAPTURE_INIT;
}
