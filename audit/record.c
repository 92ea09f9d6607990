/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the collector aims at half a million lines a second: what a run's
 * lines share is rendered once, the rest has no printf and no libc time in its way. */
#include "audit/collect_priv.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"

static const struct {
	const char *name, *type;
} kinds[] = {
#define X(name, text, type) [AUD_##name] = {text, type},
	AUD_KINDS(X)
#undef X
};

const char *aud_kind_name(enum aud_kind k)
{
	return (unsigned)k < AUD_KIND_COUNT ? kinds[k].name : "?";
}

static void put_digits(char *to, unsigned digits, uint64_t v)
{
	while (digits--) {
		to[digits] = (char)('0' + v % 10);
		v /= 10;
	}
}

/* Days since 1970-01-01 to a civil date, eras of 400 years counted from March
 * (https://howardhinnant.github.io/date_algorithms.html). */
static void civil(uint64_t days, uint64_t *y, unsigned *m, unsigned *d)
{
	uint64_t z = days + 719468, era = z / 146097;
	unsigned doe = (unsigned)(z % 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;

	*d = doy - (153 * mp + 2) / 5 + 1;
	*m = mp < 10 ? mp + 3 : mp - 9;
	*y = yoe + era * 400 + (*m <= 2);
}

void aud_add_time(uint64_t time_ns, struct b_str *out)
{
	uint64_t s = time_ns / 1000000000, y;
	char text[] = "0000-00-00T00:00:00.000000000Z";
	unsigned m, d;

	civil(s / 86400, &y, &m, &d); /* 2^64 ns end in the year 2554: four digits do */
	put_digits(text, 4, y);
	put_digits(text + 5, 2, m);
	put_digits(text + 8, 2, d);
	put_digits(text + 11, 2, s / 3600 % 24);
	put_digits(text + 14, 2, s / 60 % 60);
	put_digits(text + 17, 2, s % 60);
	put_digits(text + 20, 9, time_ns % 1000000000);
	b_str_addn(out, text, sizeof text - 1);
}

/* The workspace a path lies in, or NULL. */
static const char *workspace_of(const char *path, size_t len, const char *const *ws, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (sbx_path_under(path, len, ws[i], strlen(ws[i])))
			return ws[i];
	return NULL;
}

/* Writes the shown form to `shown` (len + 2 bytes) and gives its length. */
static size_t show_path(char *shown, const char *path, size_t len, const char *const *ws, size_t n)
{
	const char *in = workspace_of(path, len, ws, n);
	size_t cut = in ? strlen(in) : 0;

	if (!in) {
		memcpy(shown, path, len);
		return len;
	}
	if (cut == 1) /* workspace "/": its slash belongs to the rest, unless that is all */
		cut = len == 1;
	shown[0] = '.';
	memcpy(shown + 1, path + cut, len - cut);
	return 1 + len - cut;
}

void aud_path_shown(const char *path, size_t len, const char *const *workspaces, size_t n,
		    struct b_str *out)
{
	b_str_advance(out, show_path(b_str_room(out, len + 2), path, len, workspaces, n));
}

void aud_frame_init(struct aud_frame *f, const char *run_id, const char *profile,
		    const char *const *workspaces, size_t nworkspaces)
{
	b_auto(b_str_release) struct b_str run = {0}, prof = {0};
	struct b_json j = {.out = &run}, k = {.out = &prof};
	unsigned i;

	b_json_str(&j, run_id);
	b_json_str(&k, profile);
	*f = (struct aud_frame){.workspaces = workspaces, .nworkspaces = nworkspaces};
	b_str_addf(&f->id_head, "\"evt-%.*s-", (int)run.len - 2, run.s + 1);
	b_str_addf(&f->run, "\",\"run_id\":%s,\"seq\":", run.s);
	for (i = 0; i < AUD_KIND_COUNT; i++) {
		b_str_addf(&f->head[i],
			   "{\"schemaVersion\":%d,\"event_type\":\"%s\",\"event_id\":%s",
			   AUD_SCHEMA_VERSION, kinds[i].type, f->id_head.s);
		b_str_addf(&f->tail[i], ",\"kind\":\"%s\",\"profile\":%s", kinds[i].name, prof.s);
	}
}

void aud_frame_release(struct aud_frame *f)
{
	unsigned i;

	b_str_release(&f->id_head);
	b_str_release(&f->run);
	for (i = 0; i < AUD_KIND_COUNT; i++) {
		b_str_release(&f->head[i]);
		b_str_release(&f->tail[i]);
	}
}

/* A constant piece of JSON. */
#define ADD(out, literal) b_str_addn(out, literal, sizeof(literal) - 1)

static void add(struct b_str *out, const struct b_str *s)
{
	b_str_addn(out, s->s, s->len);
}

/* A static name that needs no escaping. */
static void add_name(struct b_str *out, const char *name)
{
	b_str_add(out, name);
}

static void add_text(struct b_str *out, const char *value)
{
	struct b_json j = {.out = out};

	b_json_str(&j, value);
}

static void add_seq_hex(struct b_str *out, uint64_t seq)
{
	char text[17];
	unsigned digits = 8, at = 0;

	while (digits < 16 && seq >> 4 * digits)
		digits++;
	while (digits--)
		text[at++] = "0123456789abcdef"[seq >> 4 * digits & 15];
	text[at++] = '"';
	b_str_addn(out, text, at);
}

/* Key and value, and the exact bytes where the value is no UTF-8. */
static void add_path(struct b_str *out, const struct aud_frame *f, const char *key,
		     const char *path, size_t len)
{
	struct b_json j = {.out = out, .need_comma = true};
	char shown[SBX_PATH_MAX + 2];

	if (len > SBX_PATH_MAX) /* no event is that long; other callers may be */
		len = SBX_PATH_MAX;
	b_json_bytes(&j, key, shown, show_path(shown, path, len, f->workspaces, f->nworkspaces));
}

static void add_first(struct b_str *out, const struct aud_frame *f, const struct aud_record *r)
{
	add_path(out, f, "path", r->path, r->ev->path_len);
	if (r->ev->flags & SBX_EVF_TRUNCATED)
		ADD(out, ",\"truncated\":true");
}

static void add_call(struct b_str *out, const struct aud_record *r)
{
	ADD(out, ",\"call\":\"");
	add_name(out, sbx_call_name(r->ev->call));
	b_str_addc(out, '"');
	if (r->ev->err) {
		ADD(out, ",\"errno\":");
		b_str_add_i64(out, r->ev->err);
	}
}

static void add_judged(struct b_str *out, const struct aud_frame *f, const struct aud_record *r)
{
	ADD(out, ",\"op\":\"");
	add_name(out, sbx_op_name((enum sbx_op)r->ev->op));
	b_str_addc(out, '"');
	add_first(out, f, r);
	if (r->ev->path2_len)
		add_path(out, f, "path2", r->path2, r->ev->path2_len);
	if (r->allowed)
		ADD(out, ",\"allowed\":true");
	else
		ADD(out, ",\"allowed\":false");
	if (r->disagrees)
		ADD(out, ",\"shim_disagrees\":true");
	ADD(out, ",\"matched_rule\":");
	add_text(out, r->matched_rule);
	ADD(out, ",\"rule\":");
	add_text(out, r->rule);
	add_call(out, r);
	if (r->count) {
		ADD(out, ",\"count\":");
		b_str_add_u64(out, r->count);
	}
	if (r->kind == AUD_DENIED && r->ev->flags & SBX_EVF_SUPERVISOR)
		ADD(out, ",\"reason\":\"supervisor\"");
	if (r->kind != AUD_DENIED ||
	    (r->ev->flags & (SBX_EVF_MOVE | SBX_EVF_SUPERVISOR)) != SBX_EVF_MOVE)
		return;
	if (r->ev->flags & SBX_EVF_UNSEEN)
		ADD(out, ",\"reason\":\"move-unseen\"");
	else if (r->ev->flags & SBX_EVF_ROOT)
		ADD(out, ",\"reason\":\"grant-root\"");
	else if (r->ev->flags & SBX_EVF_GIT_LINK)
		ADD(out, ",\"reason\":\"git-link\"");
	else
		ADD(out, ",\"reason\":\"move\"");
}

static void add_image(struct b_str *out, const struct aud_record *r)
{
	ADD(out, ",\"image\":\"");
	add_name(out, sbx_exec_class_name((enum sbx_exec_class)r->ev->aux));
	b_str_addc(out, '"');
}

static void add_gap(struct b_str *out, const struct aud_record *r)
{
	ADD(out, ",\"lost\":");
	b_str_add_u64(out, r->lost);
	if (r->broker_lost) {
		ADD(out, ",\"broker_lost\":");
		b_str_add_u64(out, r->broker_lost);
	}
	ADD(out, ",\"corrupt\":");
	b_str_add_u64(out, r->corrupt);
	ADD(out, ",\"abandoned\":");
	b_str_add_u64(out, r->abandoned);
}

static void add_body(struct b_str *out, const struct aud_frame *f, const struct aud_record *r)
{
	switch (r->kind) {
	case AUD_RESULT:
	case AUD_DENIED:
		add_judged(out, f, r);
		break;
	case AUD_QUERY:
		add_first(out, f, r);
		add_call(out, r);
		break;
	case AUD_EXEC:
		add_judged(out, f, r);
		add_image(out, r);
		break;
	case AUD_UNWITNESSED:
		add_first(out, f, r);
		add_image(out, r);
		break;
	case AUD_HELLO:
		add_first(out, f, r);
		break;
	case AUD_LOSS:
		add_first(out, f, r);
		ADD(out, ",\"reason\":\"");
		add_name(out, sbx_loss_name(r->ev->aux));
		b_str_addc(out, '"');
		break;
	case AUD_GAP:
		add_gap(out, r);
		break;
	case AUD_KIND_COUNT:
		break;
	}
}

static void add_process(struct b_str *out, const struct aud_frame *f, const struct aud_record *r)
{
	struct b_json j = {.out = out, .need_comma = true};

	if (r->kind != AUD_GAP) {
		ADD(out, ",\"pid\":");
		b_str_add_u64(out, r->ev->pid);
		ADD(out, ",\"ppid\":");
		b_str_add_u64(out, r->ev->ppid);
		if (r->ev->flags & AUD_EVF_UNVERIFIED)
			ADD(out, ",\"unverified\":true");
	}
	if (r->exe)
		b_json_bytes(&j, "exe", r->exe, strlen(r->exe));
	else
		ADD(out, ",\"exe\":null");
	if (r->parent_seq) {
		ADD(out, ",\"parent_event_id\":");
		add(out, &f->id_head);
		add_seq_hex(out, r->parent_seq);
	}
}

void aud_record_json(const struct aud_frame *f, const struct aud_record *r, struct b_str *out)
{
	add(out, &f->head[r->kind]);
	add_seq_hex(out, r->seq);
	ADD(out, ",\"ts\":\"");
	aud_add_time(r->ev->time_ns, out);
	add(out, &f->run);
	b_str_add_u64(out, r->seq);
	add(out, &f->tail[r->kind]);
	add_body(out, f, r);
	ADD(out, ",\"layer\":\"");
	add_name(out, r->layer);
	b_str_addc(out, '"');
	add_process(out, f, r);
	ADD(out, ",\"prev\":\"");
	add_name(out, r->prev);
	ADD(out, "\"}\n");
}

/* ---- the log file ---- */

enum { FLUSH_BYTES = 128 << 10 };

void aud_log_init(struct aud_log *l, int fd)
{
	*l = (struct aud_log){.fd = fd};
	memcpy(l->hash, AUD_CHAIN_START, sizeof l->hash);
}

void aud_log_release(struct aud_log *l)
{
	b_str_release(&l->buf);
}

void aud_log_line(struct aud_log *l, size_t start)
{
	b_sha256_hex(l->buf.s + start, l->buf.len - start - 1, l->hash);
	l->bytes += l->buf.len - start;
	l->pending_lines++;
	if (l->buf.len >= FLUSH_BYTES)
		aud_log_flush(l);
}

void aud_log_flush(struct aud_log *l)
{
	if (aud_log_open(l) && l->buf.len && b_write_all(l->fd, l->buf.s, l->buf.len) < 0) {
		l->failed = true;
		l->error = errno;
	}
	if (l->failed)
		l->dropped_lines += l->pending_lines;
	l->pending_lines = 0;
	b_str_reset(&l->buf);
}
