/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_samples.c - questions that distinguish rules on endpoints. A name is judged by the names
 * in rules that it is below, and how far: of each the name itself, one label below and two are
 * asked; ranges change at their first address and behind their last, ports likewise.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/questions/connect.h"

/* Labels that nobody writes into a rule. */
#define FRESH "sbx-any"

static void add_host(struct pol_samples *s, const struct sbx_host *h)
{
	b_grow(s->hosts, s->nhosts, s->hosts_cap);
	s->hosts[s->nhosts++] = *h;
}

static void add_name(struct pol_samples *s, const char *head, const char *name)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct sbx_host h;

	b_str_addf(&text, "%s%s", head, name);
	if (sbx_host_parse(b_str_c(&text), text.len, &h) == SBX_HOST_NAME)
		add_host(s, &h);
}

static void add_pattern(struct pol_samples *s, const char *glob)
{
	b_auto(b_str_release) struct b_str text = {0};

	for (const char *p = glob; *p; p++)
		if (p[0] == '*' && p[1] == '*')
			continue;
		else if (*p == '*' || *p == '?')
			b_str_add(&text, *p == '*' ? FRESH : "x");
		else
			b_str_addc(&text, *p);
	add_name(s, "", b_str_c(&text));
	add_name(s, FRESH ".", b_str_c(&text));
}

/* The first address, the last, and the one behind that. */
static void add_range(struct pol_samples *s, const struct sbx_cidr *c)
{
	struct sbx_host h = {.kind = SBX_HOST_ADDRESS, .addr = c->addr};
	int last = c->addr.is_v6 ? 15 : 3;

	add_host(s, &h);
	for (int bit = c->bits; bit < 8 * (last + 1); bit++)
		h.addr.b[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	add_host(s, &h);
	for (int i = last; i >= 0; i--)
		if (++h.addr.b[i])
			break;
	add_host(s, &h);
}

static void add_hosts(struct pol_samples *s, const struct pol_endpoint *e)
{
	static const char *const heads[] = {"", FRESH ".", FRESH "." FRESH "."};

	switch (e->shape) {
	case POL_HOST_NAME:
	case POL_HOST_ONE:
	case POL_HOST_DEEP:
		for (size_t i = 0; i < 3; i++)
			add_name(s, heads[i], e->host);
		break;
	case POL_HOST_GLOB:
		add_pattern(s, e->host);
		break;
	case POL_HOST_RANGE:
		add_range(s, &e->range);
		break;
	case POL_HOST_NAMES:
	case POL_HOST_ALL:
		break;
	}
}

static void add_port(struct pol_samples *s, unsigned port)
{
	for (size_t i = 0; i < s->nports; i++)
		if (s->ports[i] == port)
			return;
	if (port == 0 || port > 65535)
		return;
	b_grow(s->ports, s->nports, s->ports_cap);
	s->ports[s->nports++] = (uint16_t)port;
}

/* A program that meets the pattern: any letters for its wildcards. */
static struct sbx_exe exe_of(struct pol_samples *s, const struct pol_program *p)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct sbx_exe exe = {.dev = p->dev, .ino = p->ino};

	b_str_addc(&path, '/');
	for (const char *g = p->glob ? p->glob : ""; *g; g++)
		if (*g != '*')
			b_str_addc(&path, *g == '?' ? 'x' : *g);
		else if (g[1] != '*')
			b_str_add(&path, FRESH);
	exe.path = b_arena_strndup(&s->arena, b_str_c(&path), path.len);
	exe.path_len = path.len;
	return exe;
}

static void add_programs(struct pol_samples *s, const struct pol_programs *by)
{
	for (size_t i = 0; i < by->n; i++) {
		const char *text = by->v[i].text;
		bool is_known = false;

		for (size_t k = 0; k < s->nprograms && !is_known; k++)
			is_known = strcmp(s->texts[k], text) == 0;
		if (is_known)
			continue;
		b_grow(s->programs, s->nprograms, s->programs_cap);
		if (s->texts_cap < s->programs_cap) {
			s->texts_cap = s->programs_cap;
			s->texts = b_realloc(s->texts, s->texts_cap, sizeof *s->texts);
		}
		s->texts[s->nprograms] = b_arena_strndup(&s->arena, text, strlen(text));
		s->programs[s->nprograms++] = exe_of(s, &by->v[i]);
	}
}

void pol_samples_add(struct pol_samples *s, const struct pol_endpoints *net)
{
	if (s->nhosts == 0)
		add_name(s, "", FRESH ".invalid");
	add_port(s, 1);
	for (size_t i = 0; i < net->n; i++) {
		add_hosts(s, &net->v[i]);
		add_port(s, net->v[i].low);
		add_port(s, net->v[i].high + 1u);
		add_programs(s, &net->v[i].by);
	}
}

size_t pol_samples_count(const struct pol_samples *s)
{
	return s->nhosts * s->nports * (s->nprograms + 1);
}

void pol_samples_release(struct pol_samples *s)
{
	free(s->hosts);
	free(s->ports);
	free(s->programs);
	free(s->texts);
	b_arena_release(&s->arena);
	*s = (struct pol_samples){.nhosts = 0};
}
