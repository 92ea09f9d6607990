/* SPDX-License-Identifier: Apache-2.0 */
/* request_diff.c - endpoints that two policies open, and whose requests they judge differently. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/request.h"
#include "policy/questions/connect.h"

/* The rules of one side that hold for one endpoint. */
struct judged {
	struct sbx_requests r;
	uint32_t set[SBX_LAYERS_MAX];
	size_t n;
};

static void add_text(const struct sbx_requests *r, struct sbx_request_text t, struct b_str *out)
{
	b_str_addn(out, r->text + t.at, t.len);
}

/* All that decides, one rule a line. */
static void write_rules(const struct judged *j, struct b_str *out)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct sbx_request_set *s = &j->r.set[j->set[i]];

		b_str_addf(out, "%u\n", s->flags);
		for (uint32_t k = s->first_rule; k < s->first_rule + s->nrules; k++) {
			b_str_addc(out, j->r.rule[k].allow ? '+' : '-');
			add_text(&j->r, j->r.rule[k].matched, out);
			b_str_addc(out, '\n');
		}
	}
}

static bool passes(const struct judged *j, const char *method, const char *path)
{
	const struct sbx_request q = {method, strlen(method), path, strlen(path), "", 0};
	struct sbx_request_answer a;
	char room[1];

	for (size_t i = 0; i < j->n; i++)
		if (!sbx_request_judge(&j->r, j->set[i], &q, room, &a))
			return false;
	return true;
}

/* A request that the rule may match: its wildcards are filled with what nobody writes. */
static void write_sample(const char *matched, const char *any, struct b_str *method,
			 struct b_str *path)
{
	const char *space = strchr(matched, ' ');

	b_str_addn(method, *matched == '*' ? any : matched,
		   *matched == '*' ? strlen(any) : (size_t)(space - matched));
	if (space[1] != '/')
		b_str_addc(path, '/');
	for (const char *p = space + 1; *p && *p != '?'; p++)
		if (*p != '*')
			b_str_addc(path, *p);
		else if (p[1] != '*')
			b_str_add(path, "sbx-any");
}

/* A request of one side's rules that the two judge differently. False: none was found. */
static bool find_sample(const struct judged *from, const struct judged side[2], const char *any,
			struct b_str *out, bool *is_allowed)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct sbx_request_set *s = &from->r.set[from->set[i]];

		for (uint32_t k = s->first_rule; k < s->first_rule + s->nrules; k++) {
			b_auto(b_str_release) struct b_str m = {0}, p = {0}, text = {0};

			add_text(&from->r, from->r.rule[k].matched, &text);
			write_sample(b_str_c(&text), any, &m, &p);
			*is_allowed = passes(&side[1], b_str_c(&m), b_str_c(&p));
			if (*is_allowed == passes(&side[0], b_str_c(&m), b_str_c(&p)))
				continue;
			b_str_addf(out, "%s %s", b_str_c(&m), b_str_c(&p));
			return true;
		}
	}
	return false;
}

bool pol_requests_differ(const struct sbx_image *const image[2], const struct sbx_host *host,
			 uint16_t port, const struct sbx_programs who[2], struct b_str *out,
			 bool *is_allowed)
{
	b_auto(b_str_release) struct b_str before = {0}, after = {0};
	struct judged side[2];

	for (int i = 0; i < 2; i++) {
		sbx_requests_of(image[i], &side[i].r);
		side[i].n = sbx_connect_sets(image[i], host, port, &who[i], side[i].set);
		write_rules(&side[i], i ? &after : &before);
	}
	if (strcmp(b_str_c(&before), b_str_c(&after)) == 0)
		return false;
	for (int i = 0; i < 4; i++)
		if (find_sample(&side[i % 2], side, i < 2 ? "GET" : "DELETE", out, is_allowed))
			return true;
	*is_allowed = side[1].n == 0;
	b_str_add(out, "requests");
	return true;
}
