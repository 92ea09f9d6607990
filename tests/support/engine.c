/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/compile/ruleset.h"

void engine_init(struct engine *e)
{
	*e = (struct engine){.size = 0};
	pol_ruleset_init(&e->rules);
}

void engine_release(struct engine *e)
{
	pol_ruleset_release(&e->rules);
	free(e->data);
	*e = (struct engine){.size = 0};
}

void engine_rule_for(struct engine *e, enum sbx_op op, const char *text)
{
	char base[4096];
	const char *glob = strchr(text + 2, ' ');
	struct pol_rule r = {.allow = text[0] == '+',
			     .shape = POL_EXACT,
			     .tier = POL_TIER_PROFILE,
			     .base_is_root = true,
			     .base = base,
			     .matched = text,
			     .origin = text};

	snprintf(base, sizeof base, "%s", text + 2);
	if (glob) {
		base[glob - text - 2] = '\0';
		r.shape = POL_GLOB;
		r.glob = glob + 1;
	}
	r.base_len = strlen(base);
	if (r.base_len > 0 && base[r.base_len - 1] == '/') {
		base[--r.base_len] = '\0';
		r.shape = glob ? POL_GLOB : POL_TREE;
	}
	pol_ruleset_add(&e->rules, op, &r);
}

void engine_rule(struct engine *e, const char *text)
{
	engine_rule_for(e, SBX_READ, text);
}

void engine_endpoint(struct engine *e, const char *text)
{
	const char *by = strstr(text, " by ");
	struct pol_program program = {.text = by ? by + 4 : "", .glob = by ? by + 4 : NULL};
	struct pol_endpoint r = {.allow = text[0] == '+',
				 .layer = POL_LAYER_MAIN,
				 .by = {&program, by ? 1 : 0},
				 .origin = text};
	char to[256];

	snprintf(to, sizeof to, "%.*s", (int)(by ? by - text - 2 : 255), text + 2);
	if (pol_endpoint_parse_foreign(&e->rules.arena, to, &r, &e->err) < 0) {
		fprintf(stderr, "engine_endpoint: %s\n", e->err.msg);
		abort();
	}
	pol_endpoints_layer(&e->rules, POL_LAYER_MAIN, false);
	pol_endpoints_add(&e->rules, &r);
}

void engine_ask_endpoints(const struct sbx_image *img)
{
	static const char *const hosts[] = {"a.example.org", "b.a.example.org", "10.1.2.3",
					    "2001:db8::1", "x.internal"};
	static const struct sbx_exe exe = {1, 2, "/usr/bin/psql", 13};
	static const struct sbx_addr addrs[] = {{0, {10, 1, 2, 3}}, {1, {0x20, 2, 127, 0, 0, 1}}};
	struct sbx_connect_answer a;
	struct sbx_programs who;
	struct sbx_host h;

	sbx_connect_programs(img, &exe, 1, &who);
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		sbx_host_parse(hosts[i], strlen(hosts[i]), &h);
		sbx_connect_host(img, &h, 443, &who, &a);
		sbx_connect_resolved(img, h.name, h.len, addrs, 2, 5432, &who, &a);
		sbx_connect_may_resolve(img, h.name, h.len, NULL, &a);
	}
}

int engine_try(struct engine *e)
{
	const struct pol_compile_opts opts = {.folds = e->folds};
	enum sbx_image_status status;

	free(e->data);
	e->data = NULL;
	if (pol_compile(&e->rules, &opts, &e->data, &e->size, &e->err) < 0)
		return -1;
	status = sbx_image_open(&e->image, e->data, e->size, true);
	if (status != SBX_IMAGE_OK) {
		fprintf(stderr, "engine: %s\n", sbx_image_status_text(status));
		abort();
	}
	return 0;
}

void engine_compile(struct engine *e)
{
	if (engine_try(e) < 0) {
		fprintf(stderr, "engine: %s\n", e->err.msg);
		abort();
	}
}

bool engine_allows(const struct engine *e, const char *path)
{
	return sbx_decide(&e->image, SBX_READ, path, strlen(path));
}

void draw_seed(struct draw *d, uint64_t seed)
{
	d->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < 8; i++)
		draw(d, 1);
}

unsigned draw(struct draw *d, unsigned n)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (unsigned)(d->state >> 24) % n;
}

#define PICK(d, v) (v)[draw((d), sizeof(v) / sizeof *(v))]

/* Up to `max` words of a list. */
#define DRAW_WORDS(d, words, max, out)                                                             \
	do {                                                                                       \
		(out)[0] = '\0';                                                                   \
		for (unsigned left = draw((d), (max) + 1); left > 0; left--)                       \
			strcat((out), PICK((d), words));                                           \
	} while (0)

void draw_glob(struct draw *d, bool rich, char out[DRAWN_MAX])
{
	static const char *const plain[] = {"a", "b", "/", "*", "**", "**/", "/**", "aB"};
	static const char *const all[] = {"a",	 "b",	     "/",    "*",    "**",    "**/", "?",
					  "/**", "\xc3\xa9", "\xc3", "\xa9", "\xe2",  ".",   "\n",
					  "/",	 "?",	     "ab",   "[A]",  "{a,b}", "\\"};

	do {
		if (rich)
			DRAW_WORDS(d, all, 6, out);
		else
			DRAW_WORDS(d, plain, 6, out);
	} while (out[0] == '\0' || out[0] == '/' || strstr(out, "//"));
}

size_t draw_path(struct draw *d, char out[DRAWN_MAX])
{
	static const char *const words[] = {"a",
					    "b",
					    "/",
					    "\xc3\xa9",
					    "\xc3",
					    "\xa9",
					    "\n",
					    "/",
					    "/",
					    "a",
					    "b",
					    "Ab",
					    "A",
					    ".x",
					    "\xe2\x82\xac",
					    "\xe2\x82",
					    "[a]",
					    "\xf0\x9f",
					    "\xf0\x9f\x98\x80",
					    "\xed\xa0\x80",
					    "\xff",
					    "..."};
	char raw[DRAWN_MAX];
	size_t n = 0;

	DRAW_WORDS(d, words, 8, raw);
	out[n++] = '/';
	for (const char *p = raw; *p; p++)
		if (*p != '/' || out[n - 1] != '/')
			out[n++] = *p;
	while (n > 1 && out[n - 1] == '/')
		n--;
	out[n] = '\0';
	return n;
}

void draw_rule(struct draw *d, bool rich, struct pol_ruleset *rs)
{
	static const char *const bases[] = {"",		 "/a",	    "/a/b", "/b",
					    "/\xc3\xa9", "/a/b/ab", "/\xc3"};
	static const enum pol_shape shapes[] = {POL_EXACT, POL_TREE, POL_GLOB, POL_GLOB, POL_GLOB};
	char glob[DRAWN_MAX];
	struct pol_rule r = {.allow = draw(d, 2),
			     .shape = PICK(d, shapes),
			     .tier = POL_TIER_PROFILE,
			     .base_is_root = draw(d, 2),
			     .base = PICK(d, bases),
			     .matched = "rule",
			     .origin = "drawn"};

	draw_glob(d, rich, glob);
	r.base_len = strlen(r.base);
	r.glob = r.shape == POL_GLOB ? glob : NULL;
	r.folds = r.glob && draw(d, 4) == 0;
	pol_ruleset_add(rs, SBX_READ, &r);
}
