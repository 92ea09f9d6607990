/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints.c - the list of rules on endpoints, and the naive judge of one rule. */
#include "policy/compile/endpoints.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "policy/compile/requests.h"
#include "policy/compile/ruleset.h"

/* ---- the list ---- */

static const char *copy(struct b_arena *a, const char *s)
{
	return s ? b_arena_strndup(a, s, strlen(s)) : NULL;
}

static struct pol_programs copy_programs(struct b_arena *a, const struct pol_programs *from)
{
	struct pol_program *v;

	if (from->n == 0)
		return (struct pol_programs){0};
	v = b_arena_alloc(a, from->n * sizeof *v);
	for (size_t i = 0; i < from->n; i++) {
		v[i] = from->v[i];
		v[i].text = copy(a, from->v[i].text);
		v[i].glob = copy(a, from->v[i].glob);
	}
	return (struct pol_programs){v, from->n};
}

void pol_endpoints_add(struct pol_ruleset *rs, const struct pol_endpoint *from)
{
	struct pol_endpoints *all = &rs->net;
	struct b_arena *a = &rs->arena;
	struct pol_endpoint e = *from;

	e.host = copy(a, from->host);
	e.matched = copy(a, from->matched);
	e.origin = copy(a, from->origin);
	e.by = copy_programs(a, &from->by);
	e.requests = from->requests ? pol_http_rules_copy(a, from->requests) : NULL;
	if (from->places) {
		struct sbx_cidr *v = b_arena_alloc(a, (from->nplaces + 1) * sizeof *v);

		if (from->nplaces)
			memcpy(v, from->places, from->nplaces * sizeof *v);
		e.places = v;
	}
	b_grow(all->v, all->n, all->cap);
	all->v[all->n++] = e;
}

void pol_endpoints_layer(struct pol_ruleset *rs, uint8_t number, bool is_open)
{
	struct pol_endpoints *all = &rs->net;

	for (size_t i = 0; i < all->nlayers; i++)
		if (all->layer[i].number == number)
			return;
	B_ASSERT(all->nlayers < SBX_LAYERS_MAX);
	all->layer[all->nlayers].number = number;
	all->layer[all->nlayers++].is_open = is_open;
}

void pol_endpoints_watch(struct pol_ruleset *rs, uint8_t number)
{
	for (size_t i = 0; i < rs->net.nlayers; i++)
		if (rs->net.layer[i].number == number)
			rs->net.layer[i].is_watched = true;
}

static void hash_text(struct b_sha256 *h, const char *s)
{
	b_sha256_update(h, s ? s : "", (s ? strlen(s) : 0) + 1);
}

static void hash_endpoint(struct b_sha256 *h, const struct pol_endpoint *e)
{
	const uint64_t head[] = {(uint64_t)(e->allow | e->is_shut << 1 | (e->places != NULL) << 2),
				 e->layer,
				 e->shape,
				 e->low,
				 e->high,
				 e->by.n,
				 e->nplaces};

	b_sha256_update(h, head, sizeof head);
	b_sha256_update(h, &e->range, sizeof e->range);
	hash_text(h, e->host);
	hash_text(h, e->matched);
	hash_text(h, e->origin);
	for (size_t i = 0; i < e->by.n; i++) {
		const struct pol_program *p = &e->by.v[i];
		const uint64_t file[] = {p->dev, p->ino, p->glob != NULL};

		b_sha256_update(h, file, sizeof file);
		hash_text(h, p->text);
	}
	pol_http_rules_hash(h, e->requests);
	if (e->nplaces)
		b_sha256_update(h, e->places, e->nplaces * sizeof *e->places);
}

void pol_endpoints_hash(struct b_sha256 *h, const struct pol_endpoints *all)
{
	const uint64_t counts[] = {all->n, all->nlayers, all->ntrusted};

	b_sha256_update(h, counts, sizeof counts);
	for (size_t i = 0; i < all->nlayers; i++) {
		const uint8_t layer[] = {all->layer[i].number, all->layer[i].is_open,
					 all->layer[i].is_watched};

		b_sha256_update(h, layer, sizeof layer);
	}
	if (all->ntrusted)
		b_sha256_update(h, all->trusted, all->ntrusted * sizeof *all->trusted);
	for (size_t i = 0; i < all->n; i++)
		hash_endpoint(h, &all->v[i]);
}

/* ---- the naive judge ---- */

static bool is_below(const char *name, const char *host)
{
	size_t n = strlen(name), m = strlen(host);

	return n > m + 1 && name[n - m - 1] == '.' && strcmp(name + n - m, host) == 0;
}

static size_t count_labels(const char *name)
{
	size_t n = 1;

	for (; *name; name++)
		n += *name == '.';
	return n;
}

/* One label of a pattern: `*` any run, `?` one character. */
static bool label_matches(const char *p, size_t plen, const char *s, size_t slen)
{
	if (plen == 0)
		return slen == 0;
	if (*p == '*') {
		for (size_t i = 0; i <= slen; i++)
			if (label_matches(p + 1, plen - 1, s + i, slen - i))
				return true;
		return false;
	}
	return slen > 0 && (*p == '?' || *p == *s) &&
	       label_matches(p + 1, plen - 1, s + 1, slen - 1);
}

/* Label by label; `**` alone in front stands for one or more. */
static bool glob_matches(const char *glob, const char *name)
{
	while (strncmp(glob, "**.", 3) == 0) {
		size_t need = count_labels(glob + 3);

		if (count_labels(name) <= need)
			return false;
		glob += 3;
		while (count_labels(name) > need)
			name = strchr(name, '.') + 1;
	}
	for (;;) {
		size_t n = strcspn(glob, "."), m = strcspn(name, ".");

		if (!label_matches(glob, n, name, m) || (glob[n] == '.') != (name[m] == '.'))
			return false;
		if (!glob[n])
			return true;
		glob += n + 1;
		name += m + 1;
	}
}

static bool name_matches(const struct pol_endpoint *e, const char *name)
{
	switch (e->shape) {
	case POL_HOST_NAME:
		return strcmp(name, e->host) == 0;
	case POL_HOST_ONE:
		return is_below(name, e->host) && count_labels(name) == count_labels(e->host) + 1;
	case POL_HOST_DEEP:
		return is_below(name, e->host);
	case POL_HOST_GLOB:
		return glob_matches(e->host, name);
	case POL_HOST_NAMES:
	case POL_HOST_ALL:
		return true;
	case POL_HOST_RANGE:
		break;
	}
	return false;
}

static bool is_program(const struct pol_program *p, const struct sbx_exe *exe)
{
	if (!p->glob)
		return (p->dev || p->ino) && p->dev == exe->dev && p->ino == exe->ino;
	return exe->path && exe->path_len > 1 && exe->path[0] == '/' &&
	       pol_glob_match(p->glob, exe->path + 1, exe->path_len - 1);
}

static bool is_by(const struct pol_programs *by, const struct pol_who *who)
{
	for (size_t i = 0; i < by->n; i++)
		for (size_t k = 0; who && k < who->n; k++)
			if (is_program(&by->v[i], &who->v[k]))
				return true;
	return by->n == 0;
}

bool pol_endpoint_matches(const struct pol_endpoint *e, const char *name,
			  const struct sbx_addr *addr, uint16_t port, const struct pol_who *who)
{
	if (port < e->low || port > e->high || !is_by(&e->by, who))
		return false;
	if (name)
		return name_matches(e, name);
	return e->shape == POL_HOST_ALL ||
	       (e->shape == POL_HOST_RANGE && sbx_cidr_has(&e->range, addr));
}

int pol_endpoints_last(const struct pol_endpoints *all, uint8_t layer, const char *name,
		       const struct sbx_addr *addr, uint16_t port, const struct pol_who *who)
{
	for (size_t i = all->n; i-- > 0;)
		if (all->v[i].layer == layer &&
		    pol_endpoint_matches(&all->v[i], name, addr, port, who))
			return (int)i;
	return -1;
}
