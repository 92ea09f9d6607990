/* twins.c - see twins.h. */
#include "audit/twins.h"

#include <stdlib.h>

#include "base/mem.h"

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* FNV-1a over what both say alike. Two calls that collide while one is kept lose a line once in
 * 2^50. */
static uint64_t key_of(const struct sbx_event *ev, const char *path, const char *path2)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	/* What the shim let pass may have been refused: that is for the broker to tell. */
	unsigned char allowed = ev->flags & SBX_EVF_ALLOWED ? 1 : 0;

	h = mix(h, &allowed, 1);
	h = mix(h, &ev->pid, sizeof ev->pid);
	h = mix(h, &ev->op, sizeof ev->op);
	h = mix(h, path, ev->path_len);
	h = mix(h, "", 1);
	return mix(h, path2, ev->path2_len);
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

static struct aud_told *append(struct aud_told_list *l)
{
	if (!l->v)
		l->v = b_calloc(AUD_TWIN_MAX, sizeof *l->v);
	if (l->n == AUD_TWIN_MAX)
		drop_first(l);
	return at(l, l->n++);
}

/* Finds and crosses out. */
static bool take(struct aud_told_list *l, uint64_t key)
{
	for (size_t i = 0; i < l->n; i++) {
		struct aud_told *t = at(l, i);

		if (t->key != key)
			continue;
		free(t->path);
		free(t->path2);
		*t = (struct aud_told){.at_ms = t->at_ms};
		return true;
	}
	return false;
}

void aud_twins_broker(struct aud_twins *t, const struct sbx_event *ev, const char *path,
		      const char *path2, uint64_t now_ms)
{
	uint64_t key = key_of(ev, path, path2);

	if (take(&t->shim, key))
		return;
	*append(&t->broker) = (struct aud_told){
		.key = key,
		.at_ms = now_ms,
		.ev = *ev,
		.path = b_strndup(path, ev->path_len),
		.path2 = b_strndup(path2, ev->path2_len),
	};
}

void aud_twins_shim(struct aud_twins *t, const struct sbx_event *ev, const char *path,
		    const char *path2, uint64_t now_ms)
{
	uint64_t key = key_of(ev, path, path2);

	while (t->shim.n && now_ms - at(&t->shim, 0)->at_ms > AUD_TWIN_MS)
		drop_first(&t->shim);
	if (!take(&t->broker, key))
		*append(&t->shim) = (struct aud_told){.key = key, .at_ms = now_ms};
}

bool aud_twins_alone(struct aud_twins *t, uint64_t now_ms, bool final, struct aud_told *out)
{
	while (t->broker.n) {
		struct aud_told *first = at(&t->broker, 0);

		/* full: what comes next would push it out */
		if (first->path && !final && t->broker.n < AUD_TWIN_MAX &&
		    now_ms - first->at_ms < AUD_ALONE_MS)
			return false;
		*out = *first;
		first->path = first->path2 = NULL;
		drop_first(&t->broker);
		if (out->path)
			return true;
	}
	return false;
}

void aud_twins_release(struct aud_twins *t)
{
	struct aud_told_list *lists[] = {&t->broker, &t->shim};

	for (unsigned i = 0; i < 2; i++) {
		while (lists[i]->n)
			drop_first(lists[i]);
		free(lists[i]->v);
		*lists[i] = (struct aud_told_list){0};
	}
}
