/* SPDX-License-Identifier: Apache-2.0 */
/* exec_io.c - see exec.h. */
#include "launcher/exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "launcher/plan/environment.h"

enum {
	PIECE = 65536,	     /* a whole pipe */
	SHOWN = 512,	     /* _POSIX_PIPE_BUF: at once, on every system */
	LAST_PIECES = 64,    /* somebody who goes on writing is not listened to for ever */
	LAST_WORDS_MS = 1000 /* for a terminal that is stopped to go on */
};

/* ---- pipes ---- */

/* Above 2, where the command's own will be. */
static int lift(int fd)
{
	int high;

	if (fd > STDERR_FILENO)
		return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return high;
}

/* `ours` does not wait; the other end, a file of its own, does as programs expect. */
static int make_pipe(int ours, int fds[2])
{
	/* NOLINTNEXTLINE(android-cloexec-pipe): macOS has no pipe2(2); lift() sets the flag. */
	if (pipe(fds) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		fds[i] = lift(fds[i]);
		if (fds[i] < 0)
			return -1;
	}
	return fcntl(fds[ours], F_SETFL, fcntl(fds[ours], F_GETFL) | O_NONBLOCK);
}

static int open_stdin(const struct lau_streams *s, struct lau_exec_io *io)
{
	int fds[2] = {-1, -1};

	if (s->in == LAU_STDIN_INHERIT)
		return 0;
	if (s->in == LAU_STDIN_NULL) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		io->child[0] = null < 0 ? -1 : lift(null);
		return io->child[0] < 0 ? -1 : 0;
	}
	if (make_pipe(1, fds) < 0)
		return -1;
	io->child[0] = fds[0];
	io->in = fds[1];
	io->at = s->bytes;
	io->left = s->nbytes;
	return 0;
}

int lau_exec_io_open(const struct lau_streams *s, struct lau_exec_io *io, struct b_err *err)
{
	int why;

	*io = (struct lau_exec_io){
		.child = {-1, -1, -1},
		.out = {{.fd = -1, .redact.secrets = s->tee}, {.fd = -1, .redact.secrets = s->tee}},
		.in = -1,
		.limit = s->limit ? s->limit : LAU_CAPTURE_LIMIT,
		.is_joint = s->is_joint,
		.is_dropping = s->over == LAU_OVER_DROP,
		.is_teed = s->tee && !s->no_capture,
	};
	if (open_stdin(s, io) < 0)
		goto fail;
	for (int i = 0; i < 2 && !s->no_capture; i++) {
		int fds[2];

		if (make_pipe(0, fds) < 0)
			goto fail;
		io->out[i].fd = fds[0];
		io->child[i + 1] = fds[1];
	}
	return 0;
fail:
	why = errno;
	lau_exec_io_release(io);
	return b_fail(err, B_SYSTEM, why, "streams of the command: %s", strerror(why));
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_in(struct lau_exec_io *io, int why)
{
	io->in_errno = why;
	close_one(&io->in);
}

void lau_exec_io_started(struct lau_exec_io *io)
{
	for (int i = 0; i < 3; i++)
		close_one(&io->child[i]);
	if (io->in >= 0 && io->left == 0)
		close_in(io, 0);
}

void lau_exec_io_release(struct lau_exec_io *io)
{
	for (int i = 0; i < 3; i++)
		close_one(&io->child[i]);
	close_one(&io->in);
	for (int i = 0; i < 2; i++) {
		close_one(&io->out[i].fd);
		b_str_release(&io->out[i].bytes);
		lau_redact_release(&io->out[i].redact);
	}
	b_str_release(&io->piece);
	b_str_release(&io->shown);
}

/* ---- what the command says ---- */

static void keep(struct lau_exec_io *io, struct lau_exec_stream *s, const char *p, size_t n)
{
	size_t used = io->is_joint ? io->out[0].bytes.len + io->out[1].bytes.len : s->bytes.len;
	size_t room = io->limit - used;

	b_str_addn(&s->bytes, p, n < room ? n : room);
	s->is_cut |= n > room;
}

/* Errors are kept as they are shown. */
static void take(struct lau_exec_io *io, struct lau_exec_stream *s, const char *p, size_t n)
{
	size_t before = io->shown.len;
	bool is_err = s == &io->out[1];

	if (s->is_cut)
		return;
	if (!io->is_teed || !is_err)
		keep(io, s, p, n);
	if (!io->is_teed)
		return;
	lau_redact_feed(&s->redact, p, n, &io->shown);
	if (is_err)
		keep(io, s, b_str_c(&io->shown) + before, io->shown.len - before);
}

static void end_redaction(struct lau_exec_io *io, struct lau_exec_stream *s)
{
	size_t before = io->shown.len;

	if (!io->is_teed)
		return;
	lau_redact_end(&s->redact, &io->shown);
	if (s == &io->out[1] && !s->is_cut)
		keep(io, s, b_str_c(&io->shown) + before, io->shown.len - before);
}

/* False: nothing is there now, or ever. */
static bool read_one(struct lau_exec_io *io, struct lau_exec_stream *s)
{
	char *room;
	ssize_t n;

	b_str_reset(&io->piece);
	room = b_str_room(&io->piece, PIECE);
	do
		n = read(s->fd, room, PIECE);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		take(io, s, room, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		close_one(&s->fd);
	return n > 0;
}

/* ---- what it is told ---- */

static void write_in(struct lau_exec_io *io)
{
	ssize_t n = write(io->in, io->at, io->left);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			close_in(io, errno);
		return;
	}
	io->at += n;
	io->left -= (size_t)n;
	if (io->left == 0)
		close_in(io, 0);
}

/* ---- what is shown ---- */

/* A pipe that poll(2) says is ready takes that without waiting. */
static void show(struct lau_exec_io *io)
{
	size_t left = io->shown.len - io->shown_at;
	ssize_t n = write(STDERR_FILENO, io->shown.s + io->shown_at, left < SHOWN ? left : SHOWN);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		n = (ssize_t)left; /* nobody looks */
	if (n > 0)
		io->shown_at += (size_t)n;
	if (io->shown_at == io->shown.len) {
		b_str_reset(&io->shown);
		io->shown_at = 0;
	}
}

static void show_rest(struct lau_exec_io *io)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	while (io->shown.len > io->shown_at && poll(&fd, 1, LAST_WORDS_MS) > 0)
		show(io);
}

/* ---- turns ---- */

size_t lau_exec_io_wait(const struct lau_exec_io *io, struct pollfd fds[LAU_EXEC_IO_FDS])
{
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		if (io->out[i].fd >= 0)
			fds[n++] = (struct pollfd){.fd = io->out[i].fd, .events = POLLIN};
	if (io->in >= 0)
		fds[n++] = (struct pollfd){.fd = io->in, .events = POLLOUT};
	if (io->shown.len > io->shown_at)
		fds[n++] = (struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT};
	return n;
}

void lau_exec_io_turn(struct lau_exec_io *io, const struct pollfd *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		if (fds[i].fd == io->in)
			write_in(io);
		else if (fds[i].fd == io->out[0].fd)
			(void)read_one(io, &io->out[0]);
		else if (fds[i].fd == io->out[1].fd)
			(void)read_one(io, &io->out[1]);
		else
			show(io);
	}
}

bool lau_exec_io_is_over(const struct lau_exec_io *io)
{
	return !io->is_dropping && (io->out[0].is_cut || io->out[1].is_cut);
}

void lau_exec_io_finish(struct lau_exec_io *io)
{
	if (io->in >= 0 && io->left)
		close_in(io, EPIPE);
	for (int i = 0; i < 2; i++) {
		struct lau_exec_stream *s = &io->out[i];

		for (int n = 0; s->fd >= 0 && n < LAST_PIECES && read_one(io, s); n++)
			;
		close_one(&s->fd);
		end_redaction(io, s);
		if (s->is_cut && !io->is_dropping)
			b_str_add(&s->bytes, LAU_CAPTURE_MARK);
	}
	show_rest(io);
}

/* An exec request as text: see exec.h. */

static void put_words(struct b_json *j, const char *key, const char *const *words)
{
	b_json_key(j, key);
	b_json_open(j, '[');
	for (; words && *words; words++)
		b_json_str(j, *words);
	b_json_close(j, ']');
}

static void put_env(struct b_json *j, char *const *env)
{
	b_json_key(j, "env");
	if (!env) {
		b_json_str(j, "inherit");
		return;
	}
	b_json_open(j, '{');
	for (; *env; env++) {
		size_t n = strcspn(*env, "=");
		b_auto(b_str_release) struct b_str name = {0};

		b_str_addn(&name, *env, n);
		b_json_key(j, b_str_c(&name));
		b_json_str(j, lau_name_is_secret(b_str_c(&name), LAU_SECRET_SHOWN) ? LAU_REDACTED
			      : (*env)[n]					   ? *env + n + 1
										   : "");
	}
	b_json_close(j, '}');
}

static void put_stdin(struct b_json *j, const struct lau_exec_request *rq)
{
	static const char *const modes[] = {"inherit", "null", "bytes"};

	b_json_key(j, "stdin");
	b_json_str(j, modes[rq->stdin_mode]);
	if (rq->stdin_mode != LAU_STDIN_BYTES)
		return;
	b_json_key(j, "bytes");
	b_json_str(j, LAU_REDACTED);
	b_json_key(j, "nbytes");
	b_json_u64(j, rq->nbytes);
}

void lau_exec_request_show(const struct lau_exec_request *rq, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	put_words(&j, "argv", rq->argv);
	b_json_key(&j, "cwd");
	if (rq->cwd)
		b_json_str(&j, rq->cwd);
	else
		b_json_null(&j);
	b_json_key(&j, "timeout_ms");
	b_json_u64(&j, rq->timeout_ms);
	b_json_key(&j, "grace_ms");
	b_json_u64(&j, rq->grace_ms ? rq->grace_ms : LAU_EXEC_GRACE_MS);
	put_stdin(&j, rq);
	put_env(&j, rq->env);
	b_json_key(&j, "capture");
	b_json_bool(&j, !rq->no_capture);
	b_json_key(&j, "limit");
	b_json_u64(&j, rq->limit ? rq->limit : LAU_CAPTURE_LIMIT);
	b_json_key(&j, "debug");
	b_json_bool(&j, rq->debug);
	b_json_close(&j, '}');
}
