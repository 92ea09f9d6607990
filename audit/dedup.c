/* SPDX-License-Identifier: Apache-2.0 */
/* dedup.c - equal denials as one line with a count, and the same act reported by broker and
 * shim as one. */
#include "audit/collect_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/asked.h"
#include "core/event.h"

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3); /* FNV-1a */
	return h;
}

static uint64_t hash_of(const struct aud_denied *d)
{
	const struct sbx_event *ev = d->ev;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	h = mix(h, &ev->op, sizeof ev->op);
	h = mix(h, d->path, ev->path_len);
	h = mix(h, d->path2, ev->path2_len);
	h = mix(h, d->layer, strlen(d->layer));
	return h ^ h >> 32;
}

static bool same(const struct aud_folded *f, const struct aud_denied *d)
{
	const struct sbx_event *old = &f->ev, *ev = d->ev;

	return f->path && strcmp(f->layer, d->layer) == 0 && old->kind == ev->kind &&
	       old->op == ev->op && old->call == ev->call && old->flags == ev->flags &&
	       old->err == ev->err && old->aux == ev->aux && old->path_len == ev->path_len &&
	       old->path2_len == ev->path2_len && memcmp(f->path, d->path, ev->path_len) == 0 &&
	       memcmp(f->path2, d->path2, ev->path2_len) == 0;
}

void aud_folded_release(struct aud_folded *f)
{
	free(f->path);
	free(f->path2);
	*f = (struct aud_folded){0};
}

void aud_fold_release(struct aud_fold *f)
{
	size_t i;

	for (i = 0; i < AUD_FOLD_SLOTS; i++)
		aud_folded_release(&f->slot[i]);
}

enum aud_fold_answer aud_fold_add(struct aud_fold *f, const struct aud_denied *d, uint64_t n,
				  struct aud_folded *out_evicted)
{
	const struct sbx_event *ev = d->ev;
	uint64_t h = hash_of(d);
	struct aud_folded *s = &f->slot[h % AUD_FOLD_SLOTS];

	*out_evicted = (struct aud_folded){0};
	if (s->hash == h && same(s, d)) {
		s->count += n;
		s->ev = *ev;
		return AUD_FOLD_COUNTED;
	}
	if (s->count)
		*out_evicted = *s;
	else
		aud_folded_release(s);
	*s = (struct aud_folded){
		.ev = *ev,
		.path = b_strndup(d->path, ev->path_len),
		.path2 = b_strndup(d->path2, ev->path2_len),
		.layer = d->layer,
		.hash = h,
	};
	return AUD_FOLD_FIRST;
}

/* ---- acts reported twice ---- */

/* Shim and broker may report different texts of what the program asked for: not compared, and the
 * line has the broker's, or none. */
static size_t second_len(const struct sbx_event *ev)
{
	return sbx_asked_of(ev).path2;
}

static unsigned facts_of(const struct sbx_event *ev)
{
	return aud_trust_flags(ev) & ~SBX_EVF_ASKED;
}

/* FNV-1a, to find a twin quickly. A program can choose paths that collide: only is_twin() says. */
static uint64_t key_of(const struct sbx_event *ev, const char *path, const char *path2)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	h = mix(h, &ev->pid, sizeof ev->pid);
	h = mix(h, &ev->err, sizeof ev->err);
	h = mix(h, path, ev->path_len);
	h = mix(h, "", 1);
	return mix(h, path2, second_len(ev));
}

/* All that the broker knows of a call. */
static bool is_twin(const struct aud_told *t, const struct sbx_event *ev, const char *path,
		    const char *path2)
{
	const struct sbx_event *own = &t->ev;

	return t->path && own->kind == ev->kind && own->op == ev->op && own->pid == ev->pid &&
	       own->err == ev->err && facts_of(own) == facts_of(ev) &&
	       own->path_len == ev->path_len && second_len(own) == second_len(ev) &&
	       aud_call_is_alike(own->call, ev->call) && !memcmp(t->path, path, ev->path_len) &&
	       !memcmp(t->path2, path2, second_len(ev));
}

static struct aud_told *at(struct aud_told_list *l, size_t i)
{
	return &l->v[(l->first + i) % AUD_TWIN_MAX];
}

static void drop_first(struct aud_told_list *l)
{
	free(at(l, 0)->path);
	free(at(l, 0)->path2);
	l->first = (l->first + 1) % AUD_TWIN_MAX;
	l->n--;
}

static void append(struct aud_told_list *l, uint64_t key, const struct sbx_event *ev,
		   const char *path, const char *path2, uint64_t now_ms)
{
	if (!l->v)
		l->v = b_calloc(AUD_TWIN_MAX, sizeof *l->v);
	if (l->n == AUD_TWIN_MAX)
		drop_first(l);
	*at(l, l->n++) = (struct aud_told){
		.key = key,
		.at_ms = now_ms,
		.ev = *ev,
		.path = b_strndup(path, ev->path_len),
		.path2 = b_strndup(path2, ev->path2_len),
		.is_shims = l->is_shims,
	};
}

/* Finds the twin and crosses it out. Its second text is *out_path2, to be freed. */
static bool take(struct aud_told_list *l, uint64_t key, const struct sbx_event *ev,
		 const char *path, const char *path2, struct sbx_event *out, char **out_path2)
{
	for (size_t i = 0; i < l->n; i++) {
		struct aud_told *t = at(l, i);

		if (t->key != key || !is_twin(t, ev, path, path2))
			continue;
		*out = t->ev;
		*out_path2 = t->path2;
		free(t->path);
		*t = (struct aud_told){.at_ms = t->at_ms};
		return true;
	}
	return false;
}

/* What only the shim knows: the name of the call in the program, and the parent. */
static void add_word(struct sbx_event *brokers, const struct sbx_event *shims)
{
	brokers->call = shims->call;
	brokers->ppid = shims->ppid;
}

struct aud_asked aud_asked_of(const struct sbx_event *ev, const char *second)
{
	const struct sbx_asked a = sbx_asked_of(ev);

	if (!(ev->flags & SBX_EVF_ASKED))
		return (struct aud_asked){0};
	second += a.path2;
	return (struct aud_asked){second, second + a.first, a.first, a.second};
}

/* The paths as the shim gives them, without those that the broker gives as well. */
static struct aud_asked claim_of(const struct sbx_event *shims, const char *its,
				 const struct sbx_event *brokers, const char *own)
{
	struct aud_asked c = aud_asked_of(shims, its), a = aud_asked_of(brokers, own);

	if (c.len == a.len && c.len && !memcmp(c.text, a.text, c.len))
		c.len = 0;
	if (c.len2 == a.len2 && c.len2 && !memcmp(c.text2, a.text2, c.len2))
		c.len2 = 0;
	return c;
}

bool aud_twins_broker(struct aud_twins *t, struct sbx_event *ev, const char *path,
		      const char *path2, uint64_t now_ms, struct aud_asked *claim)
{
	uint64_t key = key_of(ev, path, path2);
	struct sbx_event word;
	char *its;

	if (take(&t->shim, key, ev, path, path2, &word, &its)) {
		free(t->second);
		t->second = its;
		*claim = claim_of(&word, its, ev, path2);
		add_word(ev, &word);
		return true;
	}
	append(&t->broker, key, ev, path, path2, now_ms);
	return false;
}

bool aud_twins_shim(struct aud_twins *t, struct sbx_event *ev, const char *path, const char **path2,
		    struct aud_asked *claim)
{
	struct sbx_event word = *ev;
	char *own;

	if (!t->broker.n ||
	    !take(&t->broker, key_of(ev, path, *path2), &word, path, *path2, ev, &own))
		return false;
	add_word(ev, &word);
	*claim = claim_of(&word, *path2, ev, own);
	/* what was asked for is a part of it: the shim's text would be the command's own */
	free(t->second);
	*path2 = t->second = own;
	return true;
}

void aud_twins_keep(struct aud_twins *t, const struct sbx_event *ev, const char *path,
		    const char *path2, uint64_t now_ms)
{
	append(&t->shim, key_of(ev, path, path2), ev, path, path2, now_ms);
}

static bool first_alone(struct aud_told_list *l, uint64_t now_ms, bool final, struct aud_told *out)
{
	while (l->n) {
		struct aud_told *first = at(l, 0);

		/* full: what comes next would push it out */
		if (first->path && !final && l->n < AUD_TWIN_MAX &&
		    now_ms - first->at_ms < l->patience_ms)
			return false;
		*out = *first;
		first->path = first->path2 = NULL;
		drop_first(l);
		if (out->path)
			return true;
	}
	return false;
}

bool aud_twins_alone(struct aud_twins *t, uint64_t now_ms, bool final, struct aud_told *out)
{
	return first_alone(&t->broker, now_ms, final, out) ||
	       first_alone(&t->shim, now_ms, final, out);
}

void aud_twins_init(struct aud_twins *t)
{
	*t = (struct aud_twins){
		.broker = {.patience_ms = AUD_ALONE_MS},
		.shim = {.patience_ms = AUD_TWIN_MS, .is_shims = true},
	};
}

void aud_twins_release(struct aud_twins *t)
{
	struct aud_told_list *lists[] = {&t->broker, &t->shim};

	free(t->second);
	t->second = NULL;
	for (unsigned i = 0; i < 2; i++) {
		while (lists[i]->n)
			drop_first(lists[i]);
		free(lists[i]->v);
		lists[i]->v = NULL;
	}
}

/* ---- kinds of calls ---- */

enum call_class {
	CLASS_NONE,
	CLASS_OPEN,
	CLASS_RENAME,
	CLASS_REMOVE,
	CLASS_LINK,
	CLASS_SYMLINK,
	CLASS_MKDIR,
	CLASS_MKNOD,
	CLASS_TRUNCATE,
	CLASS_MODE,
	CLASS_OWNER,
	CLASS_TIMES,
	CLASS_SET_ATTRIBUTE,
	CLASS_REMOVE_ATTRIBUTE,
	CLASS_BIND,
};

/* Calls that change what a path names: the shim tells no others that the broker performs. */
static const unsigned char class_of[SBX_CALL_COUNT] = {
#define ROW(call, its) [SBX_CALL_##call] = CLASS_##its
	ROW(open, OPEN),
	ROW(openat, OPEN),
	ROW(openat2, OPEN),
	ROW(creat, OPEN),
	ROW(fopen, OPEN),
	ROW(freopen, OPEN),
	ROW(mkstemp, OPEN),
	ROW(tmpfile, OPEN),
	ROW(shm_open, OPEN),
	ROW(sem_open, OPEN),
	ROW(spawn_addopen, OPEN),
	ROW(rename, RENAME),
	ROW(renameat, RENAME),
	ROW(renameat2, RENAME),
	ROW(unlink, REMOVE),
	ROW(unlinkat, REMOVE),
	ROW(rmdir, REMOVE),
	ROW(remove, REMOVE),
	ROW(shm_unlink, REMOVE),
	ROW(sem_unlink, REMOVE),
	ROW(link, LINK),
	ROW(linkat, LINK),
	ROW(symlink, SYMLINK),
	ROW(symlinkat, SYMLINK),
	ROW(mkdir, MKDIR),
	ROW(mkdirat, MKDIR),
	ROW(mkdtemp, MKDIR),
	ROW(mknod, MKNOD),
	ROW(mknodat, MKNOD),
	ROW(mkfifo, MKNOD),
	ROW(mkfifoat, MKNOD),
	ROW(truncate, TRUNCATE),
	ROW(chmod, MODE),
	ROW(fchmodat, MODE),
	ROW(lchmod, MODE),
	ROW(chown, OWNER),
	ROW(lchown, OWNER),
	ROW(fchownat, OWNER),
	ROW(utime, TIMES),
	ROW(utimes, TIMES),
	ROW(utimensat, TIMES),
	ROW(lutimes, TIMES),
	ROW(futimesat, TIMES),
	ROW(setxattr, SET_ATTRIBUTE),
	ROW(removexattr, REMOVE_ATTRIBUTE),
	ROW(bind, BIND),
#undef ROW
};

bool aud_call_is_alike(unsigned call, unsigned other)
{
	if (call >= SBX_CALL_COUNT || other >= SBX_CALL_COUNT)
		return false;
	return call == other || (class_of[call] && class_of[call] == class_of[other]);
}
