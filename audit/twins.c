/* twins.c - see twins.h. */
#include "audit/twins.h"

#include <stdlib.h>
#include <string.h>

#include "audit/callclass.h"
#include "audit/trust.h"
#include "base/mem.h"

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* FNV-1a, to find a twin quickly. A program can choose paths that collide: only is_twin() says. */
static uint64_t key_of(const struct sbx_event *ev, const char *path, const char *path2)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	h = mix(h, &ev->pid, sizeof ev->pid);
	h = mix(h, &ev->err, sizeof ev->err);
	h = mix(h, path, ev->path_len);
	h = mix(h, "", 1);
	return mix(h, path2, ev->path2_len);
}

/* All that the broker knows of a call. */
static bool is_twin(const struct aud_told *t, const struct sbx_event *ev, const char *path,
		    const char *path2)
{
	const struct sbx_event *own = &t->ev;

	return t->path && own->kind == ev->kind && own->op == ev->op && own->pid == ev->pid &&
	       own->err == ev->err && aud_trust_flags(own) == aud_trust_flags(ev) &&
	       own->path_len == ev->path_len && own->path2_len == ev->path2_len &&
	       aud_call_is_alike(own->call, ev->call) && !memcmp(t->path, path, ev->path_len) &&
	       !memcmp(t->path2, path2, ev->path2_len);
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

/* Finds the twin and crosses it out. */
static bool take(struct aud_told_list *l, uint64_t key, const struct sbx_event *ev,
		 const char *path, const char *path2, struct sbx_event *out)
{
	for (size_t i = 0; i < l->n; i++) {
		struct aud_told *t = at(l, i);

		if (t->key != key || !is_twin(t, ev, path, path2))
			continue;
		*out = t->ev;
		free(t->path);
		free(t->path2);
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

bool aud_twins_broker(struct aud_twins *t, struct sbx_event *ev, const char *path,
		      const char *path2, uint64_t now_ms)
{
	uint64_t key = key_of(ev, path, path2);
	struct sbx_event word;

	if (take(&t->shim, key, ev, path, path2, &word)) {
		add_word(ev, &word);
		return true;
	}
	append(&t->broker, key, ev, path, path2, now_ms);
	return false;
}

bool aud_twins_shim(struct aud_twins *t, struct sbx_event *ev, const char *path, const char *path2)
{
	struct sbx_event word = *ev;

	if (!t->broker.n || !take(&t->broker, key_of(ev, path, path2), &word, path, path2, ev))
		return false;
	add_word(ev, &word);
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

	for (unsigned i = 0; i < 2; i++) {
		while (lists[i]->n)
			drop_first(lists[i]);
		free(lists[i]->v);
		lists[i]->v = NULL;
	}
}
