/* SPDX-License-Identifier: Apache-2.0 */
/* learn_net.c - the endpoints that a run connected to, as rules. */
#include "views/learn_net.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/entry.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/endpoints.h"

enum { ENDPOINTS_MAX = 1000 };

static struct view_endpoint *find(struct view_endpoints *all, const char *text)
{
	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].text, text) == 0)
			return &all->v[i];
	return NULL;
}

/* A name that was only asked for has no port; of a request its connection has an event, too. */
static bool is_connection(const struct aud_entry *e)
{
	return strcmp(e->op, "connect") == 0 && *e->host && e->port && !*e->request;
}

static bool is_sayable(const char *text)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	struct pol_endpoint e;
	struct b_err ignored;

	return !pol_is_socket_path(text) && pol_endpoint_parse(&arena, text, &e, &ignored) == 0;
}

void view_endpoints_note(struct view_endpoints *all, const struct aud_entry *e)
{
	struct view_endpoint *one;

	if (!is_connection(e))
		return;
	one = find(all, e->path);
	if (!one && (all->n == ENDPOINTS_MAX || !is_sayable(e->path))) {
		all->left_out += (uint64_t)e->count;
		return;
	}
	if (!one) {
		b_grow(all->v, all->n, all->cap);
		one = &all->v[all->n++];
		*one = (struct view_endpoint){.text = b_strdup(e->path)};
	}
	one->calls += (uint64_t)e->count;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct view_endpoint *)a)->text,
		      ((const struct view_endpoint *)b)->text);
}

void view_endpoints_write(struct view_endpoints *all, struct b_str *out)
{
	struct b_json j = {.out = out};

	if (all->left_out)
		b_str_addf(out, "      # %" PRIu64 " connections were left out\n", all->left_out);
	if (!all->n)
		return;
	qsort(all->v, all->n, sizeof *all->v, by_text);
	b_str_add(out, "      connect:\n");
	for (size_t i = 0; i < all->n; i++) {
		b_str_add(out, "        - ");
		j.need_comma = false;
		b_json_str(&j, all->v[i].text);
		b_str_addf(out, " # %" PRIu64 "\n", all->v[i].calls);
	}
}

void view_endpoints_release(struct view_endpoints *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->v[i].text);
	free(all->v);
}
