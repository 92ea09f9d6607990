/* record.c - see record.h. The collector aims at half a million lines a second: no printf, no
 * libc time, one growing string. */
#include "audit/record.h"

#include <string.h>

#include "base/json.h"
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

static void add_path(struct b_json *j, const struct aud_frame *f, const char *key, const char *path,
		     size_t len)
{
	char shown[SBX_PATH_MAX + 2];

	if (len > SBX_PATH_MAX) /* no event is that long; other callers may be */
		len = SBX_PATH_MAX;
	b_json_bytes(j, key, shown, show_path(shown, path, len, f->workspaces, f->nworkspaces));
}

static void add_id(struct b_json *j, const char *key, const struct aud_frame *f, uint64_t seq)
{
	char text[80] = "evt-";
	size_t run = strnlen(f->run_id, 48), at = 4, i;

	memcpy(text + at, f->run_id, run);
	at += run;
	text[at++] = '-';
	for (i = 8; seq >> 4 * i && i < 16;)
		i++;
	while (i--)
		text[at++] = "0123456789abcdef"[seq >> 4 * i & 15];
	b_json_key(j, key);
	b_json_strn(j, text, at);
}

static void add_str(struct b_json *j, const char *key, const char *value)
{
	b_json_key(j, key);
	b_json_str(j, value);
}

static void add_u64(struct b_json *j, const char *key, uint64_t v)
{
	b_json_key(j, key);
	b_json_u64(j, v);
}

static void add_first(struct b_json *j, const struct aud_frame *f, const struct aud_record *r)
{
	add_path(j, f, "path", r->path, r->ev->path_len);
	if (r->ev->flags & SBX_EVF_TRUNCATED) {
		b_json_key(j, "truncated");
		b_json_bool(j, true);
	}
}

static void add_judged(struct b_json *j, const struct aud_frame *f, const struct aud_record *r)
{
	add_str(j, "op", sbx_op_name((enum sbx_op)r->ev->op));
	add_first(j, f, r);
	if (r->ev->path2_len)
		add_path(j, f, "path2", r->path2, r->ev->path2_len);
	b_json_key(j, "allowed");
	b_json_bool(j, r->allowed);
	if (r->disagrees) {
		b_json_key(j, "shim_disagrees");
		b_json_bool(j, true);
	}
	add_str(j, "matched_rule", r->matched_rule);
	add_str(j, "rule", r->rule);
	add_str(j, "call", sbx_call_name(r->ev->call));
	if (r->ev->err) {
		b_json_key(j, "errno");
		b_json_i64(j, r->ev->err);
	}
	if (r->count)
		add_u64(j, "count", r->count);
	if (r->kind == AUD_DENIED && r->ev->flags & SBX_EVF_MOVE)
		add_str(j, "reason", "move");
}

static void add_image(struct b_json *j, const struct aud_record *r)
{
	add_str(j, "image", sbx_exec_class_name((enum sbx_exec_class)r->ev->aux));
}

static void add_body(struct b_json *j, const struct aud_frame *f, const struct aud_record *r)
{
	switch (r->kind) {
	case AUD_RESULT:
	case AUD_DENIED:
		add_judged(j, f, r);
		break;
	case AUD_EXEC:
		add_judged(j, f, r);
		add_image(j, r);
		break;
	case AUD_UNWITNESSED:
		add_first(j, f, r);
		add_image(j, r);
		break;
	case AUD_HELLO:
		add_first(j, f, r);
		break;
	case AUD_LOSS:
		add_first(j, f, r);
		add_u64(j, "reason_code", r->ev->aux);
		break;
	case AUD_GAP:
		add_u64(j, "lost", r->lost);
		add_u64(j, "corrupt", r->corrupt);
		add_u64(j, "abandoned", r->abandoned);
		break;
	case AUD_KIND_COUNT:
		break;
	}
}

static void add_process(struct b_json *j, const struct aud_frame *f, const struct aud_record *r)
{
	if (r->kind != AUD_GAP) {
		add_u64(j, "pid", r->ev->pid);
		add_u64(j, "ppid", r->ev->ppid);
	}
	if (r->exe) {
		b_json_bytes(j, "exe", r->exe, strlen(r->exe));
	} else {
		b_json_key(j, "exe");
		b_json_null(j);
	}
	if (r->parent_seq)
		add_id(j, "parent_event_id", f, r->parent_seq);
}

void aud_record_json(const struct aud_frame *f, const struct aud_record *r, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_u64(&j, "schemaVersion", AUD_SCHEMA_VERSION);
	add_str(&j, "event_type", kinds[r->kind].type);
	add_id(&j, "event_id", f, r->seq);
	b_json_key(&j, "ts");
	b_str_addc(out, '"');
	aud_add_time(r->ev->time_ns, out);
	b_str_addc(out, '"');
	j.need_comma = true;
	add_str(&j, "run_id", f->run_id);
	add_u64(&j, "seq", r->seq);
	add_str(&j, "kind", kinds[r->kind].name);
	add_str(&j, "profile", f->profile);
	add_body(&j, f, r);
	add_str(&j, "layer", r->layer);
	add_process(&j, f, r);
	add_str(&j, "prev", r->prev);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}
