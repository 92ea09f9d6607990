/* SPDX-License-Identifier: Apache-2.0 */
/* exec_result.c - see exec.h. */
#include "launcher/exec/exec.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "launcher/supervise/supervise.h"

enum { SCHEMA_VERSION = 1 };

void lau_exec_result_release(struct lau_exec_result *r)
{
	b_str_release(&r->out);
	b_str_release(&r->err);
	*r = (struct lau_exec_result){0};
}

/* ---- what was wrong ---- */

static int os_error(struct b_err *err, enum b_kind kind, int sys, const char *what)
{
	return b_fail(err, kind, sys, "%s: %s (os error %d)", what, strerror(sys), sys);
}

int lau_exec_spawn_failed(const char *program, struct b_err *err)
{
	b_auto(b_str_release) struct b_str what = {0};

	if (err->sys == 0)
		return b_wrap(err, "failed to spawn `%s`", program);
	b_str_addf(&what, "failed to spawn `%s`", program);
	return os_error(err, err->kind, err->sys, what.s);
}

/* ---- what is said on the errors ---- */

static const char *signal_name(int signo)
{
	static const struct {
		int signo;
		const char *name;
	} names[] = {
		{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].signo == signo)
			return names[i].name;
	return "SIG?";
}

/* On a line of its own, though the last one may have been ended. */
static void annotate(struct lau_exec_result *r)
{
	if (!r->timed_out && !r->interrupted)
		return;
	if (r->err.len)
		b_str_addc(&r->err, '\n');
	if (r->timed_out)
		b_str_add(&r->err, "process timed out");
	else
		b_str_addf(&r->err, "process interrupted by signal %s",
			   signal_name(r->interrupted));
}

/* ---- the result ---- */

static void take_streams(struct lau_exec_result *r, struct lau_exec_io *io)
{
	r->out = io->out[0].bytes;
	r->err = io->out[1].bytes;
	r->out_is_cut = io->out[0].is_cut;
	r->err_is_cut = io->out[1].is_cut;
	io->out[0].bytes = io->out[1].bytes = (struct b_str){0};
}

/* `is_over`: what went past the limit was ended by us, whatever it said in the end. */
static void take_outcome(struct lau_exec_result *r, const struct lau_outcome *o, bool is_over)
{
	bool ran = o->phase == LAU_PHASE_COMMAND || o->phase == LAU_PHASE_TIMEOUT ||
		   o->phase == LAU_PHASE_INTERRUPTED;

	r->error = o->err;
	r->signal = ran ? o->signal : 0;
	r->timed_out = o->phase == LAU_PHASE_TIMEOUT;
	r->interrupted = o->phase == LAU_PHASE_INTERRUPTED ? o->interrupted : 0;
	r->was_killed = ran && o->was_killed;
	if (r->interrupted) {
		r->has_exit_code = true;
		r->exit_code = 128 + r->interrupted;
	} else if (o->phase == LAU_PHASE_COMMAND && !o->signal && !is_over) {
		r->has_exit_code = true;
		r->exit_code = o->exit_code;
	}
}

void lau_exec_result_fill(struct lau_exec_result *r, const struct lau_outcome *o,
			  struct lau_exec_io *io)
{
	bool is_over = io && lau_exec_io_is_over(io);

	if (io)
		take_streams(r, io);
	take_outcome(r, o, is_over);
	r->success = r->has_exit_code && r->exit_code == 0 && r->error.kind == B_OK;
	if (!r->is_plain)
		annotate(r);
	/* A command that succeeded had no use for the rest; of another it may be the reason. */
	if (io && io->in_errno && r->error.kind == B_OK && !r->timed_out && !r->interrupted &&
	    !(r->success && io->in_errno == EPIPE)) {
		os_error(&r->error, B_SYSTEM, io->in_errno, "failed to write process stdin");
		r->success = false;
	}
}

/* ---- as text ---- */

/* Length of the longest beginning of a well-formed character at p, which is none itself: what
 * Unicode calls a maximal subpart (chapter 3, table 3-7). */
static size_t subpart(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t want, i;

	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 1;
	want = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	for (i = 1; i < want && i < n && p[i] >= low && p[i] <= high; i++) {
		low = 0x80;
		high = 0xbf;
	}
	return i;
}

void lau_exec_text(const void *bytes, size_t n, struct b_str *out)
{
	const unsigned char *p = bytes;
	size_t i = 0, clean = 0;

	while (i < n) {
		unsigned len = p[i] < 0x80 ? 1 : b_utf8_len(p + i, n - i);

		if (len) {
			i += len;
			continue;
		}
		b_str_addn(out, p + clean, i - clean);
		b_str_add(out, "\xef\xbf\xbd");
		i += subpart(p + i, n - i);
		clean = i;
	}
	b_str_addn(out, p + clean, n - clean);
}

static void put_text(struct b_json *j, const char *key, const struct b_str *bytes)
{
	b_auto(b_str_release) struct b_str text = {0};

	lau_exec_text(b_str_c(bytes), bytes->len, &text);
	b_json_key(j, key);
	b_json_strn(j, b_str_c(&text), text.len);
}

static void put_bytes(struct b_json *j, const char *key, const struct b_str *bytes)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (b_utf8_valid(b_str_c(bytes), bytes->len))
		return;
	b_str_add_base64(&text, bytes->s, bytes->len);
	b_json_key(j, key);
	b_json_strn(j, text.s, text.len);
}

static void put_int(struct b_json *j, const char *key, bool is_there, int64_t v)
{
	b_json_key(j, key);
	if (is_there)
		b_json_i64(j, v);
	else
		b_json_null(j);
}

static void put_bool(struct b_json *j, const char *key, bool v)
{
	b_json_key(j, key);
	b_json_bool(j, v);
}

static void put_error(struct b_json *j, const struct b_err *err)
{
	b_json_key(j, "error");
	if (err->kind == B_OK) {
		b_json_null(j);
		return;
	}
	b_json_open(j, '{');
	b_json_key(j, "code");
	b_json_str(j, b_kind_code(err->kind));
	b_json_key(j, "message");
	b_json_str(j, err->msg);
	b_json_close(j, '}');
}

void lau_exec_result_json(const struct lau_exec_result *r, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	put_int(&j, "schemaVersion", true, SCHEMA_VERSION);
	put_bool(&j, "success", r->success);
	put_text(&j, "stdout", &r->out);
	put_text(&j, "stderr", &r->err);
	put_int(&j, "exit_code", r->has_exit_code, r->exit_code);
	put_int(&j, "duration_ms", true, (int64_t)r->duration_ms);
	b_json_key(&j, "output");
	if (r->output)
		b_str_add(out, r->output);
	else
		b_json_null(&j);
	j.need_comma = true;
	put_bytes(&j, "stdout_b64", &r->out);
	put_bytes(&j, "stderr_b64", &r->err);
	put_int(&j, "signal", r->signal, r->signal);
	put_int(&j, "interrupted", r->interrupted, r->interrupted);
	put_bool(&j, "timed_out", r->timed_out);
	put_bool(&j, "killed", r->was_killed);
	put_bool(&j, "stdout_truncated", r->out_is_cut);
	put_bool(&j, "stderr_truncated", r->err_is_cut);
	put_error(&j, &r->error);
	if (r->members)
		b_str_addf(out, ",%s", r->members);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}
