#include "policy/model.h"

#include <string.h>

/* Arena arrays double by copying: the old half stays behind until the document is freed. */
static void *grow(struct b_arena *a, void *v, size_t n, size_t *cap, size_t size)
{
	void *bigger;

	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 8;
	bigger = b_arena_alloc(a, *cap * size);
	if (n)
		memcpy(bigger, v, n * size);
	return bigger;
}

void pol_texts_add(struct pol_doc *doc, struct pol_texts *list, struct pol_text text)
{
	list->v = grow(&doc->arena, list->v, list->n, &list->cap, sizeof *list->v);
	list->v[list->n++] = text;
}

struct pol_profile *pol_doc_add_profile(struct pol_doc *doc, struct pol_text name)
{
	struct pol_profile *p;

	doc->profiles = grow(&doc->arena, doc->profiles, doc->nprofiles, &doc->profiles_cap,
			     sizeof *doc->profiles);
	p = &doc->profiles[doc->nprofiles++];
	*p = (struct pol_profile){.name = name};
	return p;
}

void pol_doc_release(struct pol_doc *doc)
{
	b_arena_release(&doc->arena);
	*doc = (struct pol_doc){0};
}
