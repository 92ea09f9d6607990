/* SPDX-License-Identifier: Apache-2.0 */
/* claims.c - checks the claims of an event: its process is found, and its verdict computed again
 * from the policy. */
#include "audit/collect_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "core/connect.h"
#include "core/event.h"
#include "core/fold.h"
#include "core/path.h"
#include "policy/plan/seccomp.h"

/* Is the operation asked of both paths (rename and link)? */
static bool both_ends(const struct sbx_event *ev)
{
	static const bool table[SBX_CALL_COUNT] = {
		[SBX_CALL_rename] = true,	[SBX_CALL_renameat] = true,
		[SBX_CALL_renameat2] = true,	[SBX_CALL_link] = true,
		[SBX_CALL_linkat] = true,	[SBX_CALL_clonefile] = true,
		[SBX_CALL_exchangedata] = true,
	};

	return ev->path2_len && table[ev->call];
}

/* ---- which rule objects to a move ---- */

enum { SLOTS = 2 * SBX_MOVE_BUDGET, NONE = SBX_MOVE_BUDGET };

/* States below the two ends, in the order they were met, and how: by a byte behind another. A
 * hostile program may ask for this with every record: each pair is looked up at once. */
struct walk {
	const struct sbx_image *img;
	enum sbx_op op;
	struct {
		uint32_t from, to;
		uint16_t behind;
		unsigned char byte;
	} v[SBX_MOVE_BUDGET];
	size_t n;
	uint16_t slot[SLOTS];	  /* index + 1, by hash */
	unsigned char bytes[255]; /* one of each class that the automaton tells apart */
	size_t nbytes;
	unsigned *steps; /* that may still be taken */
};

static void find_bytes(struct walk *w)
{
	const unsigned char *class = w->img->base + w->img->hdr->op[w->op].verdict.classes;
	bool met[256] = {false};

	for (unsigned c = 1; c < 256; c++)
		if (!met[class[c]]) {
			met[class[c]] = true;
			w->bytes[w->nbytes++] = (unsigned char)c;
		}
}

static void meet(struct walk *w, uint32_t from, uint32_t to, size_t behind, unsigned char byte)
{
	uint64_t h = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);
	size_t k = (size_t)(h >> 32) % SLOTS, i;

	for (; w->slot[k]; k = (k + 1) % SLOTS) {
		i = w->slot[k] - 1u;
		if (w->v[i].from == from && w->v[i].to == to)
			return;
	}
	if (w->n == SBX_MOVE_BUDGET)
		return;
	i = w->n++;
	w->slot[k] = (uint16_t)(i + 1);
	w->v[i].from = from;
	w->v[i].to = to;
	w->v[i].behind = (uint16_t)behind;
	w->v[i].byte = byte;
}

static uint32_t below(const struct walk *w, const char *path, size_t len)
{
	return sbx_step(w->img, w->op, sbx_walk(w->img, w->op, path, len), '/');
}

static bool is_name(const struct walk *w, size_t i)
{
	return !((sbx_state_flags(w->img, w->op, w->v[i].from) |
		  sbx_state_flags(w->img, w->op, w->v[i].to)) &
		 SBX_ST_SLASH);
}

static bool allows(const struct walk *w, uint32_t state)
{
	return sbx_state_flags(w->img, w->op, state) & SBX_ST_ALLOW;
}

/* The first name below the two ends that may not be moved so, or NONE. */
static size_t find_objector(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		bool from = allows(w, w->v[i].from), to = allows(w, w->v[i].to);

		if (*w->steps < w->nbytes + 1)
			return NONE;
		*w->steps -= (unsigned)w->nbytes + 1;
		if (is_name(w, i) && from != to && (to || w->op == SBX_MODIFY))
			return i;
		for (size_t k = 0; k < w->nbytes; k++)
			if (w->bytes[k] != '/' || is_name(w, i))
				meet(w, sbx_step(w->img, w->op, w->v[i].from, w->bytes[k]),
				     sbx_step(w->img, w->op, w->v[i].to, w->bytes[k]), i,
				     w->bytes[k]);
	}
	return NONE;
}

/* The rule that decides on name `i` below `path`. */
static void explain_below(const struct walk *w, size_t i, const char *path, size_t len,
			  struct sbx_verdict *out)
{
	char room[SBX_PATH_MAX], *at = room + sizeof room;

	for (; i > 0; i = w->v[i].behind)
		*--at = (char)w->v[i].byte;
	*--at = '/';
	len -= len == 1; /* the root directory */
	if (len > (size_t)(at - room))
		return;
	at -= len;
	for (size_t k = 0; k < len; k++)
		at[k] = path[k];
	sbx_explain(w->img, w->op, at, (size_t)(room + sizeof room - at), out);
}

/* Both ends allow the operation: what objects lies below them. A symlink's event has one path for
 * both, and what is denied below that is what the link would stand for. Returns whether it is
 * the second. */
static bool explain_move(struct walk *w, const struct sbx_event *ev, const char *path,
			 const char *path2, struct sbx_verdict *out)
{
	size_t i;

	find_bytes(w);
	meet(w, below(w, path, ev->path_len), below(w, path2, ev->path2_len), 0, 0);
	i = find_objector(w);
	if (i != NONE && !allows(w, w->v[i].from)) {
		explain_below(w, i, path, ev->path_len, out);
		return false;
	}
	for (i = i == NONE ? 0 : i; i < w->n; i++)
		if (is_name(w, i) && !allows(w, w->v[i].to)) {
			explain_below(w, i, path2, ev->path2_len, out);
			return true;
		}
	return false;
}

/* Denied by a rule that matches a folded text: false = no such rule. */
static bool explain_folded(const struct sbx_image *img, enum sbx_op op, const char *path,
			   size_t len, struct sbx_verdict *out)
{
	int rule = sbx_folded_rule(img, op, path, len, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS);

	if (rule < 0)
		return false;
	out->allowed = false;
	sbx_explain_rule(img, op, rule, out);
	return true;
}

/* The same of a move: at its ends, or below them. Returns whether it is the second. */
static bool explain_folded_move(const struct sbx_image *img, enum sbx_op op,
				const struct sbx_event *ev, const char *path, const char *path2,
				struct sbx_verdict *out)
{
	int rule;

	if (explain_folded(img, op, path, ev->path_len, out))
		return false;
	if (explain_folded(img, op, path2, ev->path2_len, out))
		return true;
	rule = sbx_folded_near(img, op, path, ev->path_len);
	if (rule >= 0) {
		sbx_explain_rule(img, op, rule, out);
		return false;
	}
	rule = sbx_folded_near(img, op, path2, ev->path2_len);
	if (rule >= 0)
		sbx_explain_rule(img, op, rule, out);
	return rule >= 0;
}

/* A move refused because it would launder: names the end that is denied for the operation that
 * objects, or what is denied below one. Its verdict depends on the kind of the object at that
 * time, which no one can ask now: the claim stands. */
static void judge_move(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
		       const char *path2, unsigned *steps, struct aud_verdict *out)
{
	struct walk w = {
		.img = img,
		.steps = steps,
		.op = ev->aux < SBX_OP_COUNT ? (enum sbx_op)ev->aux : SBX_MODIFY,
	};
	/* the name itself may not be moved: what speaks of it is the rule that allows the rest */
	bool is_root = ev->flags & (SBX_EVF_ROOT | SBX_EVF_SETID | SBX_EVF_STOOD_IN);
	struct sbx_verdict v, to;

	sbx_explain(img, w.op, path, ev->path_len, &v);
	sbx_explain(img, w.op, path2, ev->path2_len, &to);
	out->second = v.allowed && !to.allowed;
	if (out->second)
		v = to;
	else if (v.allowed && !is_root)
		out->second = explain_move(&w, ev, path, path2, &v);
	if (v.allowed && !is_root)
		out->second = explain_folded_move(img, w.op, ev, path, path2, &v);
	out->matched = v.matched;
	out->origin = v.origin;
	out->allowed = false;
	out->disagrees = false;
}

static bool is_cut(const struct sbx_event *ev)
{
	return ev->flags & SBX_EVF_TRUNCATED &&
	       (ev->path_len == SBX_PATH_MAX - 1 || ev->path2_len == SBX_PATH_MAX - 1);
}

/* Of a path that is cut, or of an endpoint, only its writer could tell; endpoints are the broker's
 * alone to speak of. A rule that is none is a liar's. */
static void judge_cut(const struct sbx_image *img, const struct sbx_event *ev,
		      struct aud_verdict *out)
{
	enum sbx_op op = (enum sbx_op)ev->op;
	struct sbx_verdict v;

	sbx_explain_rule(img, op, ev->rule <= img->hdr->nrules ? (int)ev->rule - 1 : -1, &v);
	if (ev->flags & SBX_EVF_ENDPOINT && !ev->rule && ev->aux == SBX_CONNECT_LIMIT)
		v = (struct sbx_verdict){.matched = "<limit>", .origin = "builtin:limit"};
	else if (ev->flags & SBX_EVF_ENDPOINT && ev->aux == SBX_CONNECT_REPLACED)
		v.matched = "<Binary integrity violation>";
	else if (ev->flags & SBX_EVF_ENDPOINT && !ev->rule)
		v.matched = sbx_connect_is_said(img) ? "<no matching rule>" : "<no network>";
	*out = (struct aud_verdict){
		.allowed = ev->flags & SBX_EVF_ALLOWED,
		.second = ev->flags & SBX_EVF_PATH2_DENIED,
		.matched = v.matched,
		.origin = v.origin,
	};
}

static void judge_filtered(const struct sbx_event *ev, struct aud_verdict *out)
{
	size_t n;
	const struct pol_sc_rule *rules = pol_sc_rules(&n);

	*out = (struct aud_verdict){.matched = "<system-call filter>", .origin = "builtin:filter"};
	if (ev->aux < n)
		out->origin = rules[ev->aux].origin;
}

void aud_judge(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
	       const char *path2, unsigned *steps, struct aud_verdict *out)
{
	bool claimed = ev->flags & SBX_EVF_ALLOWED;
	bool is_nameless = !ev->path_len && both_ends(ev); /* a file gets its first name */
	const char *first = is_nameless ? path2 : path;
	size_t len = is_nameless ? ev->path2_len : ev->path_len;
	enum sbx_op op = (enum sbx_op)ev->op;
	struct sbx_verdict v;

	/* the rule of an endpoint depends on the program and on addresses, which are gone by now */
	if (is_cut(ev) || ev->flags & SBX_EVF_ENDPOINT) {
		judge_cut(img, ev, out);
		return;
	}
	if (ev->flags & SBX_EVF_MOVE && !claimed) {
		judge_move(img, ev, path, path2, steps, out);
		return;
	}
	if (ev->flags & SBX_EVF_FILTER && !claimed) {
		judge_filtered(ev, out);
		return;
	}
	*out = (struct aud_verdict){.matched = "<supervisor>", .origin = "builtin:supervisor"};
	if (ev->flags & SBX_EVF_SUPERVISOR && !claimed)
		return;
	sbx_explain(img, op, first, len, &v);
	out->second = is_nameless && !v.allowed;
	if (v.allowed && both_ends(ev) && !sbx_decide(img, op, path2, ev->path2_len)) {
		out->second = true;
		sbx_explain(img, op, path2, ev->path2_len, &v);
	}
	/* the writer has asked the file system, and the run is the stricter for it */
	if (v.allowed && !claimed && !explain_folded(img, op, first, len, &v) && both_ends(ev))
		out->second = explain_folded(img, op, path2, ev->path2_len, &v);
	out->allowed = v.allowed;
	out->matched = v.matched;
	out->origin = v.origin;
	out->disagrees = v.allowed != claimed;
}

/* ---- who may speak of whom ---- */

enum {
	LOOKS_PER_DRAIN =
		512,	 /* an upper limit of chains, whatever process numbers the events claim */
	CHAIN_MAX = 256, /* generations between a process and us */
	CALLS_PER_MS = 20000, /* of one CPU: a call costs 50 ns at the very least */
	EARLY_NS = 100000000, /* an event may be older than the collector by this */
	LATE_NS = 2000000000  /* and newer than the drain that takes it by this */
};

void aud_trust_init(struct aud_trust *t, aud_kin_fn *kin)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*t = (struct aud_trust){
		.kin = kin,
		.proc = -1,
		.started_ns = b_now_real_ns(),
		.per_ms = CALLS_PER_MS * (uint64_t)(cpus > 0 ? cpus : 1),
	};
	t->now_ns = t->started_ns;
}

void aud_trust_enter(struct aud_trust *t, int proc)
{
	aud_trust_release(t);
	t->proc = proc;
	if (proc < 0)
		t->kin = NULL;
}

void aud_trust_release(struct aud_trust *t)
{
	if (t->proc >= 0)
		close(t->proc);
	t->proc = -1;
}

void aud_trust_tick(struct aud_trust *t, uint64_t now_ms)
{
	t->now_ns = b_now_real_ns();
	t->now_ms = now_ms;
	t->looks = LOOKS_PER_DRAIN;
	if (!t->started_ms)
		t->started_ms = now_ms;
}

/* proc_pid_stat(5): "pid (comm) state ppid"; comm may hold anything. 0 = none that we could see,
 * -1 = it is gone. */
static int64_t parent_of(uint32_t pid)
{
	char path[32], text[512], *close;
	b_auto_fd int fd = -1;
	unsigned parent;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	close = strrchr(text, ')');
	return close && sscanf(close + 1, " %*c %u", &parent) == 1 ? (int64_t)parent : -1;
}

enum aud_kin aud_kin_of(uint32_t pid)
{
	uint32_t self = (uint32_t)getpid();

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		int64_t parent = parent_of(pid);

		if (parent == (int64_t)self)
			return AUD_KIN_OURS;
		if (parent <= 0)
			return parent < 0 ? AUD_KIN_GONE : AUD_KIN_STRANGER;
		pid = (uint32_t)parent;
	}
	return AUD_KIN_GONE;
}

/* Of the process itself: nobody else has numbers there. */
static enum aud_kin kin_of(struct aud_trust *t, uint32_t pid)
{
	char name[16];

	if (t->proc < 0) {
		if (!t->looks)
			return AUD_KIN_STRANGER;
		t->looks--;
		return t->kin(pid);
	}
	snprintf(name, sizeof name, "%u", (unsigned)pid);
	return pid && faccessat(t->proc, name, F_OK, 0) == 0 ? AUD_KIN_OURS : AUD_KIN_GONE;
}

bool aud_trust_exe(const struct aud_trust *t, uint32_t pid, char *exe, size_t size)
{
	char name[32], text[4096];
	ssize_t n;

	snprintf(name, sizeof name, t->proc < 0 ? "/proc/%u/exe" : "%u/exe", (unsigned)pid);
	n = readlinkat(t->proc < 0 ? AT_FDCWD : t->proc, name, text, sizeof text);
	if (n <= 0 || (size_t)n >= size || n == sizeof text)
		return false;
	memcpy(exe, text, (size_t)n);
	exe[n] = '\0';
	return true;
}

static bool is_member(const struct aud_trust *t, uint32_t pid)
{
	return pid && t->member[pid % AUD_TRUST_SLOTS] == pid;
}

void aud_trust_member(struct aud_trust *t, uint32_t pid)
{
	t->member[pid % AUD_TRUST_SLOTS] = pid;
}

/* While a process lives the kernel knows. Of one that is gone: a shim's word of an image that
 * began there, or a parent that is one of ours. */
static bool is_verified(struct aud_trust *t, const struct sbx_event *ev)
{
	enum aud_kin kin;

	if (ev->pid && ev->pid < t->first)
		return false;
	if (!t->kin || is_member(t, ev->pid))
		return true;
	kin = kin_of(t, ev->pid);
	if (kin == AUD_KIN_GONE && (ev->kind == SBX_EV_EXEC || ev->kind == SBX_EV_HELLO ||
				    is_member(t, ev->ppid) || kin_of(t, ev->ppid) == AUD_KIN_OURS))
		kin = AUD_KIN_OURS;
	if (kin != AUD_KIN_OURS)
		return false;
	aud_trust_member(t, ev->pid);
	return true;
}

/* All repeats of a run together, against what its time allows. */
static bool are_possible(struct aud_trust *t, uint64_t repeats)
{
	uint64_t ms = t->now_ms - t->started_ms + 1000;

	if (repeats > ms * t->per_ms - t->repeats)
		return false;
	t->repeats += repeats;
	return true;
}

bool aud_trust_event(struct aud_trust *t, struct sbx_event *ev)
{
	if (ev->kind == SBX_EV_REPEAT && !are_possible(t, ev->count))
		return false;
	if (ev->time_ns + EARLY_NS < t->started_ns || ev->time_ns > t->now_ns + LATE_NS)
		ev->time_ns = t->now_ns;
	ev->flags &= (uint16_t)~AUD_EVF_UNVERIFIED;
	if (!is_verified(t, ev))
		ev->flags |= AUD_EVF_UNVERIFIED;
	return true;
}
