/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - the collector aims at half a million lines a second: what a run's
 * lines share is rendered once, the rest has no printf and no libc time in its way. */
#include "audit/collect_priv.h"
#include "audit/fields.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "core/stamp.h"

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

const char *aud_kind_type(enum aud_kind k)
{
	return (unsigned)k < AUD_KIND_COUNT ? kinds[k].type : "?";
}

void aud_add_time(uint64_t time_ns, struct b_str *out)
{
	char text[SBX_STAMP_SIZE];

	sbx_stamp(time_ns, text);
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

/* A constant piece of JSON. */
#define ADD(out, literal) b_str_addn(out, literal, sizeof(literal) - 1)

static void add(struct b_str *out, const struct b_str *s)
{
	if (s->len)
		b_str_addn(out, s->s, s->len);
}

static void add_text(struct b_str *out, const char *value)
{
	struct b_json j = {.out = out};

	b_json_str(&j, value);
}

void aud_frame_init(struct aud_frame *f, const char *run_id, const char *profile,
		    const char *const *workspaces, size_t nworkspaces)
{
	*f = (struct aud_frame){.workspaces = workspaces,
				.nworkspaces = nworkspaces,
				.run_id = run_id,
				.profile = profile};
	ADD(&f->id, ",\"run_id\":");
	add_text(&f->id, run_id);
}

void aud_frame_context(struct aud_frame *f, const char *const *context, size_t n)
{
	struct b_json j = {.out = &f->context};
	size_t i;

	if (!n)
		return;
	ADD(&f->context, ",\"context\":");
	b_json_open(&j, '{');
	for (i = 0; i < n; i++) {
		size_t len = strcspn(context[i], "=");
		b_auto(b_str_release) struct b_str key = {0};

		b_str_addn(&key, context[i], len);
		b_json_key(&j, key.s);
		b_json_str(&j, context[i] + len + (context[i][len] == '='));
	}
	b_json_close(&j, '}');
}

void aud_frame_release(struct aud_frame *f)
{
	b_str_release(&f->id);
	b_str_release(&f->context);
}

/* ---- one function a field of fields.h: key and value, or nothing ---- */

struct pen {
	struct b_str *out;
	const struct aud_frame *f;
	const struct aud_record *r;
};

/* A name or number of ours, which needs no escape. */
static void add_u64(struct b_str *out, const char *key, size_t n, uint64_t v)
{
	b_str_addn(out, key, n);
	b_str_add_u64(out, v);
}

static void add_word(struct b_str *out, const char *key, size_t n, const char *word)
{
	b_str_addn(out, key, n);
	b_str_add(out, word);
	b_str_addc(out, '"');
}

#define KEY(name)      ",\"" name "\":", sizeof(",\"" name "\":") - 1
#define WORD_KEY(name) ",\"" name "\":\"", sizeof(",\"" name "\":\"") - 1
#define FLAG(member, name, condition)                                                              \
	static void put_##member(const struct pen *p)                                              \
	{                                                                                          \
		if (condition)                                                                     \
			ADD(p->out, ",\"" name "\":true");                                         \
	}
#define NUMBER(member, name, condition, value)                                                     \
	static void put_##member(const struct pen *p)                                              \
	{                                                                                          \
		if (condition)                                                                     \
			add_u64(p->out, KEY(name), (uint64_t)(value));                             \
	}
#define WORD(member, name, condition, value)                                                       \
	static void put_##member(const struct pen *p)                                              \
	{                                                                                          \
		if (condition)                                                                     \
			add_word(p->out, WORD_KEY(name), value);                                   \
	}
#define TEXT(member, name, condition, value)                                                       \
	static void put_##member(const struct pen *p)                                              \
	{                                                                                          \
		if (!(condition))                                                                  \
			return;                                                                    \
		b_str_addn(p->out, KEY(name));                                                     \
		add_text(p->out, value);                                                           \
	}

/* Key and value, and the exact bytes where the value is no UTF-8. */
static void add_path(const struct pen *p, const char *key, const char *path, size_t len)
{
	struct b_json j = {.out = p->out, .need_comma = true};
	char shown[SBX_PATH_MAX + 2];

	if (len > SBX_PATH_MAX) /* no event is that long; other callers may be */
		len = SBX_PATH_MAX;
	b_json_bytes(&j, key, shown,
		     show_path(shown, path, len, p->f->workspaces, p->f->nworkspaces));
}

static bool is_exit(const struct pen *p)
{
	return p->r->kind == AUD_EXIT;
}

static void put_version(const struct pen *p)
{
	ADD(p->out, "{\"schemaVersion\":2");
}
_Static_assert(AUD_SCHEMA_VERSION == 2, "as written");

static void put_ts(const struct pen *p)
{
	ADD(p->out, ",\"ts\":\"");
	aud_add_time(p->r->ev->time_ns, p->out);
	b_str_addc(p->out, '"');
}

static void put_run_id(const struct pen *p)
{
	if (p->f->is_shared || p->r->kind == AUD_RUN)
		add(p->out, &p->f->id);
}

static void put_path(const struct pen *p)
{
	add_path(p, "path", p->r->path, p->r->ev->path_len);
}

static bool is_endpoint(const struct pen *p)
{
	return p->r->ev->flags & SBX_EVF_ENDPOINT && p->r->kind != AUD_RUN;
}

/* Where host:port has its colon: the length for a name alone, which was asked of the resolver. */
static size_t host_len(const struct aud_record *r)
{
	size_t len = r->ev->path_len, at = len;

	while (at && r->path[at - 1] >= '0' && r->path[at - 1] <= '9')
		at--;
	return at && at < len && r->path[at - 1] == ':' ? at - 1 : len;
}

static void put_host(const struct pen *p)
{
	struct b_json j = {.out = p->out, .need_comma = true};
	size_t len = is_endpoint(p) ? host_len(p->r) : 0;

	if (len > 2 && p->r->path[0] == '[' && p->r->path[len - 1] == ']')
		b_json_bytes(&j, "host", p->r->path + 1, len - 2);
	else if (len)
		b_json_bytes(&j, "host", p->r->path, len);
	else if (p->r->kind == AUD_RUN && p->r->origin->host)
		b_json_bytes(&j, "host", p->r->origin->host, strlen(p->r->origin->host));
}

static void put_port(const struct pen *p)
{
	size_t len = is_endpoint(p) ? host_len(p->r) : 0;

	if (!len || len == p->r->ev->path_len)
		return;
	ADD(p->out, ",\"port\":");
	b_str_addn(p->out, p->r->path + len + 1, p->r->ev->path_len - len - 1);
}

/* What no process is known of was refused for an address of the name. */
static void put_program(const struct pen *p)
{
	struct b_json j = {.out = p->out, .need_comma = true};

	if (is_endpoint(p) && p->r->ev->path2_len && p->r->ev->pid)
		b_json_bytes(&j, "program", p->r->path2, p->r->ev->path2_len);
}

/* No address has a blank in it. */
static bool has_request(const struct pen *p)
{
	return !p->r->ev->pid && p->r->ev->path2_len &&
	       memchr(p->r->path2, ' ', p->r->ev->path2_len);
}

static void put_address(const struct pen *p)
{
	struct b_json j = {.out = p->out, .need_comma = true};

	if (is_endpoint(p) && p->r->ev->path2_len && !p->r->ev->pid && !has_request(p))
		b_json_bytes(&j, "address", p->r->path2, p->r->ev->path2_len);
}

static void put_request(const struct pen *p)
{
	struct b_json j = {.out = p->out, .need_comma = true};

	if (is_endpoint(p) && has_request(p))
		b_json_bytes(&j, "request", p->r->path2, p->r->ev->path2_len);
}

static void put_path2(const struct pen *p)
{
	if (p->r->ev->path2_len && !p->r->argv && !is_endpoint(p))
		add_path(p, "path2", p->r->path2, p->r->ev->path2_len);
}

static void put_allowed(const struct pen *p)
{
	b_str_add(p->out, p->r->allowed ? ",\"allowed\":true" : ",\"allowed\":false");
}

static void put_err(const struct pen *p)
{
	if (!p->r->ev->err)
		return;
	ADD(p->out, ",\"errno\":");
	b_str_add_i64(p->out, p->r->ev->err);
}

static const char *reason_of(const struct aud_record *r)
{
	unsigned flags = r->ev->flags;

	if (r->kind == AUD_LOSS)
		return sbx_loss_name(r->ev->aux);
	if (flags & SBX_EVF_SUPERVISOR)
		return "supervisor";
	if (!(flags & SBX_EVF_MOVE))
		return flags & SBX_EVF_FILTER && !(flags & SBX_EVF_ENDPOINT) ? "filter" : NULL;
	if (flags & SBX_EVF_UNSEEN)
		return "move-unseen";
	if (flags & SBX_EVF_ROOT)
		return "grant-root";
	if (flags & SBX_EVF_SETID)
		return "set-id";
	if (flags & SBX_EVF_STOOD_IN)
		return "current-directory";
	return flags & SBX_EVF_GIT_LINK ? "git-link" : "move";
}

static void put_reason(const struct pen *p)
{
	const char *reason = reason_of(p->r);

	if (reason)
		add_word(p->out, WORD_KEY("reason"), reason);
}

static void add_words(struct b_str *out, char *const *argv)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '[');
	for (; *argv; argv++)
		b_json_str(&j, *argv);
	b_json_close(&j, ']');
}

static void put_argv(const struct pen *p)
{
	bool is_run = p->r->kind == AUD_RUN && p->r->origin->argv;

	if (!is_run && !p->r->argv)
		return;
	ADD(p->out, ",\"argv\":");
	if (is_run)
		add_words(p->out, p->r->origin->argv);
	else
		add(p->out, p->r->argv->json);
}

static void put_exe(const struct pen *p)
{
	struct b_json j = {.out = p->out, .need_comma = true};

	if (p->r->exe && !p->r->parent_seq)
		b_json_bytes(&j, "exe", p->r->exe, strlen(p->r->exe));
}

/* Where the line `proc` has the parent, and it is of this very process, it is not said again. */
static bool tells_parent(const struct aud_record *r)
{
	const unsigned always = AUD_K(EXEC) | AUD_K(HELLO) | AUD_K(UNWITNESSED) | AUD_K(LOSS);

	return always >> r->kind & 1 || !r->is_image || !r->parent_seq;
}

static void put_cwd(const struct pen *p)
{
	bool is_run = p->r->kind == AUD_RUN;
	const char *cwd = is_run ? p->r->origin->cwd : p->r->cwd;
	size_t len = is_run && cwd ? strlen(cwd) : p->r->cwd_len;

	if (len)
		add_path(p, "cwd", cwd, len);
}

static void put_context(const struct pen *p)
{
	add(p->out, &p->f->context);
}

static void put_chain(const struct pen *p)
{
	(void)p; /* aud_log_line() */
}

static void add_bytes(const struct pen *p, const char *key, const char *s, size_t n)
{
	struct b_json j = {.out = p->out, .need_comma = true};

	if (n)
		b_json_bytes(&j, key, s, n);
}

#define BYTES(member, key, text, len)                                                              \
	static void put_##member(const struct pen *p)                                              \
	{                                                                                          \
		add_bytes(p, key, p->r->text, p->r->len);                                          \
	}
BYTES(asked, "asked", asked.text, asked.len)
BYTES(asked2, "asked2", asked.text2, asked.len2)
BYTES(claimed, "claimed", claimed.text, claimed.len)
BYTES(claimed2, "claimed2", claimed.text2, claimed.len2)

static unsigned did(const struct aud_record *r) /* SBX_DID_*: the broker's alone to say */
{
	bool is_its = strcmp(r->layer, "broker") == 0 && !(r->ev->flags & SBX_EVF_MOVE);

	return is_its && r->ev->op == SBX_MODIFY && !r->ev->err ? r->ev->aux : 0;
}

FLAG(created, "created", did(p->r) & SBX_DID_CREATE)
FLAG(exchanged, "exchanged", did(p->r) & SBX_DID_EXCHANGE)
FLAG(replaced, "replaced", did(p->r) & SBX_DID_REPLACE)
NUMBER(seq, "seq", true, p->r->seq)
WORD(kind, "kind", true, kinds[p->r->kind].name)
WORD(op, "op", true, sbx_op_name((enum sbx_op)p->r->ev->op))
FLAG(truncated, "truncated", p->r->ev->flags &SBX_EVF_TRUNCATED)
FLAG(would_deny, "would_deny", is_endpoint(p) && p->r->ev->flags & SBX_EVF_WATCHED)
FLAG(disagrees, "shim_disagrees", p->r->disagrees)
TEXT(matched_rule, "matched_rule", true, p->r->matched_rule)
TEXT(rule, "rule", true, p->r->rule)
FLAG(of_path2, "of_path2", p->r->of_path2)
WORD(against, "against", p->r->ev->flags &SBX_EVF_MOVE && p->r->ev->aux < SBX_OP_COUNT,
     sbx_op_name((enum sbx_op)p->r->ev->aux))
WORD(call, "call", true, sbx_call_name(p->r->ev->call))
NUMBER(count, "count", p->r->count, p->r->count)
WORD(image, "image", true, sbx_exec_class_name((enum sbx_exec_class)p->r->ev->aux))
FLAG(argv_cut, "argv_cut", p->r->argv && p->r->argv->is_cut)
NUMBER(status, "status", is_exit(p) && p->r->status >= 0, p->r->status)
NUMBER(signal, "signal", is_exit(p) && p->r->signal > 0, p->r->signal)
NUMBER(lost, "lost", true, p->r->lost)
NUMBER(broker_lost, "broker_lost", p->r->broker_lost, p->r->broker_lost)
NUMBER(corrupt, "corrupt", true, p->r->corrupt)
NUMBER(abandoned, "abandoned", true, p->r->abandoned)
WORD(layer, "layer", strcmp(p->r->layer, "shim") != 0, p->r->layer)
NUMBER(pid, "pid", true, p->r->ev->pid)
NUMBER(ppid, "ppid", tells_parent(p->r), p->r->ev->ppid)
FLAG(unverified, "unverified", p->r->ev->flags &AUD_EVF_UNVERIFIED)
NUMBER(proc, "proc", p->r->parent_seq, p->r->parent_seq)
NUMBER(uid, "uid", true, p->r->origin->uid)
TEXT(tty, "tty", p->r->origin->tty, p->r->origin->tty)
TEXT(profile, "profile", p->f->profile, p->f->profile)
TEXT(bundle, "bundle", p->r->origin->bundle, p->r->origin->bundle)
TEXT(policy, "policy", true, p->r->reload->policy)
TEXT(error, "error", p->r->reload->error, p->r->reload->error)
NUMBER(closed, "closed", !p->r->reload->error, p->r->reload->closed)

typedef void put_fn(const struct pen *);

static const struct {
	put_fn *put;
	unsigned kinds;
} fields[AUD_F_COUNT] = {
#define X(member, key, type, always, sometimes, text)                                              \
	[AUD_F_##member] = {put_##member, (always) | (sometimes)},
	AUD_FIELDS(X)
#undef X
};

void aud_record_json(const struct aud_frame *f, const struct aud_record *r, struct b_str *out)
{
	const struct pen p = {.out = out, .f = f, .r = r};
	unsigned i;

	for (i = 0; i < AUD_F_COUNT; i++)
		if (fields[i].kinds >> r->kind & 1)
			fields[i].put(&p);
}
