/* SPDX-License-Identifier: Apache-2.0 */
/* emit.c - the blocks of a profile in their order, and the way from a ruleset to a checked one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"

void sbpl_profile_release(struct sbpl_profile *prof)
{
	b_arena_release(&prof->arena);
	*prof = (struct sbpl_profile){0};
}

int sbpl_count_rules(struct sbpl_emit *e, size_t n, const char *origin)
{
	e->nrules += n;
	if (e->nrules > SBPL_MAX_RULES)
		return b_fail(e->err, B_LIMIT, 0,
			      "sbpl: more than %d rules at %s: sandbox-exec crashes on large "
			      "profiles: fewer rules, or whole directories in them",
			      SBPL_MAX_RULES, origin);
	return 0;
}

void sbpl_put_title(struct sbpl_emit *e, const char *title)
{
	b_str_addf(&e->out, "\n;; %s\n", title);
}

/* One block: one list of the ruleset, one set of operations. */
struct block {
	enum sbx_op op;
	const char *operations, *title;
};

static const struct block blocks[] = {
	{SBX_READ, "file-read*", "read"},
	{SBX_MODIFY, "file-write* file-link network-bind", "modify"},
	{SBX_EXEC, "process-exec*", "exec"},
	/* A socket's path is a filter of network-outbound. */
	{SBX_CONNECT, "network-outbound", "connect"},
};

/* Where a dialect has no list for exec, that of read serves: a third of the rules less. */
static const struct block read_and_exec = {SBX_READ, "file-read* process-exec*", "read, exec"};

static bool same_rule(const struct pol_rule *a, const struct pol_rule *b)
{
	return a->allow == b->allow && a->layer == b->layer && a->shape == b->shape &&
	       a->base_len == b->base_len && a->base_is_root == b->base_is_root &&
	       strcmp(a->base, b->base) == 0 &&
	       (a->shape != POL_GLOB || (a->folds == b->folds && strcmp(a->glob, b->glob) == 0));
}

static bool exec_is_read(const struct sbpl_emit *e)
{
	const struct pol_list *read = &e->rs->op[SBX_READ], *exec = &e->rs->op[SBX_EXEC];

	if (read->n == 0 || read->n != exec->n)
		return false;
	for (size_t i = 0; i < read->n; i++)
		if (!same_rule(&read->v[i], &exec->v[i]))
			return false;
	return true;
}

static void put_rule(struct sbpl_emit *e, const struct block *b, const struct pol_rule *r)
{
	b_str_addf(&e->out, "(%s %s ", r->allow ? "allow" : "deny", b->operations);
	sbpl_put_rule_filter(e, &e->out, r, !r->allow);
	b_str_addc(&e->out, ')');
	sbpl_put_comment(&e->out, r->origin);
}

static int put_block(struct sbpl_emit *e, const struct block *b)
{
	const struct pol_list list = sbpl_main_layer(&e->rs->op[b->op]);

	if (e->rs->op[b->op].n == 0 && (b->op == SBX_EXEC || b->op == SBX_CONNECT))
		return 0;
	sbpl_put_title(e, b->title);
	for (size_t i = 0; i < list.n; i++) {
		put_rule(e, b, &list.v[i]);
		if (sbpl_count_rules(e, 1, list.v[i].origin) < 0)
			return -1;
	}
	for (size_t i = 0; i < e->nwidened; i++) {
		if (e->widened[i].op != b->op)
			continue;
		put_rule(e, b, &e->widened[i].rule);
		if (sbpl_count_rules(e, 1, e->widened[i].rule.origin) < 0)
			return -1;
	}
	return sbpl_put_layers(e, b->op, b->operations);
}

static int put_network(struct sbpl_emit *e)
{
	static const char both[] = "(allow network-outbound (remote ip \"%s:*\"))\n"
				   "(allow network-bind (local ip \"%s:*\"))\n"
				   "(allow network-inbound (local ip \"%s:*\"))\n";
	const char *host = e->o->net == SBPL_NET_HOST ? "*" : "localhost";

	switch (e->o->net) {
	case SBPL_NET_NONE:
		return 0;
	case SBPL_NET_PROXY:
		if (e->o->proxy_port == 0 || e->o->proxy_port > 65535)
			return b_fail(e->err, B_USAGE, 0, "sbpl: proxy port %u: not a port",
				      e->o->proxy_port);
		sbpl_put_title(e, "network: the proxy");
		b_str_addf(&e->out, "(allow network-outbound (remote ip \"localhost:%u\"))\n",
			   e->o->proxy_port);
		return sbpl_count_rules(e, 1, "the network");
	case SBPL_NET_LOOPBACK:
	case SBPL_NET_HOST:
		sbpl_put_title(e, "network");
		b_str_addf(&e->out, both, host, host, host);
		return sbpl_count_rules(e, 3, "the network");
	}
	return 0;
}

/* Ahead of the rules about sockets: a path is no filter of what goes over IP. */
static int put_sockets(struct sbpl_emit *e)
{
	const char *dir = e->o->any_socket ? "" : e->o->own_sockets;

	if (!dir)
		return 0;
	dir = sbpl_canonical_path(&e->prof->arena, dir);
	sbpl_put_title(e, e->o->any_socket ? "Unix sockets" : "Unix sockets of the run's own");
	b_str_add(&e->out, "(allow network-outbound ");
	sbpl_put_path(e, &e->out, "subpath", dir, strlen(dir));
	b_str_add(&e->out, ")\n");
	return sbpl_count_rules(e, 1, "Unix sockets");
}

static int put_head(struct sbpl_emit *e)
{
	size_t n;

	b_str_add(&e->out,
		  "(version 1)\n(deny default)\n"
		  "(deny file-link) ; open under (deny default): a second name is a way around\n"
		  "(deny process-info*) ; in part open under (deny default): other processes\n");
	sbpl_put_title(e, "what any command needs");
	n = sbpl_groups_add(&e->out, e->o->groups, e->o->macos);
	/* Behind what the groups open: the last rule that matches wins. */
	b_str_add(&e->out, "(deny file-ioctl (ioctl-command 2147578994)) ; TIOCSTI: types for the "
			   "person\n"
			   "(deny sysctl-read (sysctl-name-prefix \"kern.procargs\")) ; arguments "
			   "and environment of other processes\n");
	return sbpl_count_rules(e, n + 5, "the base groups");
}

/* realpath(3) and getcwd(3) stat each directory above. */
static int put_metadata(struct sbpl_emit *e)
{
	const struct pol_list list = sbpl_main_layer(&e->rs->op[SBX_READ]);

	sbpl_put_title(e, "stat");
	if (!e->o->stat_ancestors) {
		b_str_add(&e->out,
			  "(allow file-read-metadata) ; stat is free, whatever is denied\n");
		return sbpl_count_rules(e, 1, "stat");
	}
	b_str_add(&e->out, "(allow file-read-metadata (literal \"/\"))\n");
	if (sbpl_count_rules(e, 1, "stat") < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		const struct pol_rule *r = &list.v[i];

		if (!r->allow || r->base_len == 0)
			continue;
		b_str_add(&e->out, "(allow file-read-metadata");
		for (size_t k = 1; k <= r->base_len; k++) {
			if (k < r->base_len && r->base[k] != '/')
				continue;
			b_str_addc(&e->out, ' ');
			sbpl_put_path(e, &e->out, "literal", r->base, k);
		}
		b_str_addc(&e->out, ')');
		sbpl_put_comment(&e->out, r->origin);
		if (sbpl_count_rules(e, 1, r->origin) < 0)
			return -1;
	}
	return 0;
}

static const char *shown(struct sbpl_emit *e, const struct pol_rule *r)
{
	b_auto(b_str_release) struct b_str s = {0};

	b_str_add_visible(&s, r->base, r->base_len);
	if (r->shape == POL_GLOB) {
		b_str_addc(&s, '/');
		b_str_add_visible(&s, r->glob, strlen(r->glob));
	}
	return b_arena_strndup(&e->prof->arena, b_str_c(&s), s.len);
}

/* A control byte can come from no name that a person means; in a profile it may end a string. */
static int check_bytes(struct sbpl_emit *e)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < e->rs->op[op].n; i++) {
			const struct pol_rule *r = &e->rs->op[op].v[i];
			const char *texts[] = {r->base, r->shape == POL_GLOB ? r->glob : ""};

			for (size_t k = 0; k < 2; k++)
				for (const char *p = texts[k]; *p; p++)
					if ((unsigned char)*p < ' ' || *p == 0x7f)
						return b_fail(e->err, B_POLICY, 0,
							      "%s: `%s`: a control character "
							      "cannot stand in a profile for "
							      "macOS: rename it",
							      r->origin, shown(e, r));
		}
	return 0;
}

/* The define comes only with what needs it: it is the part of a profile least sure on a Mac. */
static bool has_char(const struct pol_ruleset *rs)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < rs->op[op].n; i++)
			if (rs->op[op].v[i].shape == POL_GLOB && strchr(rs->op[op].v[i].glob, '?'))
				return true;
	return false;
}

static int put_hardened(struct sbpl_emit *e)
{
	bool merged = exec_is_read(e);

	sbpl_find_widened(e);
	if (put_head(e) < 0 || sbpl_put_extra(e) < 0 || put_network(e) < 0 || put_sockets(e) < 0)
		return -1;
	if (has_char(e->rs))
		b_str_add(&e->out, sbpl_char_define);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		const struct block *b = &blocks[i];

		if (merged && b->op == SBX_EXEC)
			continue;
		if (put_block(e, merged && b->op == SBX_READ ? &read_and_exec : b) < 0)
			return -1;
	}
	if (put_metadata(e) < 0 || sbpl_put_clones(e) < 0)
		return -1;
	sbpl_note_groups(e);
	return sbpl_put_pins(e);
}

static int build(struct sbpl_emit *e)
{
	int rc = check_bytes(e);

	if (rc == 0)
		rc = e->o->style == SBPL_STYLE_ORBIT ? sbpl_put_orbit(e) : put_hardened(e);
	if (rc < 0)
		return -1;
	if (e->nrules > SBPL_WARN_RULES)
		sbpl_note(e, "%zu rules: sandbox-exec may take seconds to load them", e->nrules);
	e->prof->text = b_arena_strndup(&e->prof->arena, b_str_c(&e->out), e->out.len);
	e->prof->len = e->out.len;
	e->prof->nrules = e->nrules;
	return sbpl_self_check(e);
}

/* The image that answers for the rules as macOS spells them. */
static int with_image(struct sbpl_emit *e, const struct sbx_image *image)
{
	b_auto_free void *data = NULL;
	struct sbx_image own;
	size_t size;
	int rc;

	if (!image) {
		if (pol_compile(e->rs, NULL, &data, &size, e->err) < 0)
			return -1;
		if (sbx_image_open(&own, data, size, false) != SBX_IMAGE_OK)
			return b_fail(e->err, B_POLICY, 0, "sbpl: the compiled rules do not open");
		image = &own;
	}
	e->img = image;
	rc = build(e);
	e->img = NULL; /* it may end here */
	return rc;
}

/* Orbit has one list: that a second must allow as well is not of its style. */
static int check_layers(const struct pol_ruleset *rs, struct b_err *err)
{
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &rs->op[op];

		if (pol_layer_end(list, 0) < list->n)
			return b_fail(err, B_POLICY, 0,
				      "%s: a profile in Orbit's style holds the rules of one "
				      "document, not of a managed or project file beside it: "
				      "--sbpl-style hardened",
				      list->v[pol_layer_end(list, 0)].origin);
	}
	return 0;
}

int sbpl_compile(const struct pol_ruleset *rs, const struct sbx_image *image,
		 const struct sbpl_opts *o, struct sbpl_profile *out, struct b_err *err)
{
	struct sbpl_profile prof = {.text = ""};
	struct pol_ruleset canonical;
	struct sbpl_emit e = {.rs = rs, .o = o, .prof = &prof, .err = err};
	int rc;

	if (o->style == SBPL_STYLE_ORBIT && check_layers(rs, err) < 0)
		return -1;
	pol_ruleset_init(&canonical);
	if (o->style == SBPL_STYLE_HARDENED && sbpl_canonical(rs, o->groups, &canonical)) {
		e.rs = &canonical;
		image = NULL;
	}
	e.writes = sbpl_main_layer(&e.rs->op[SBX_MODIFY]);
	rc = with_image(&e, image);
	b_str_release(&e.out);
	free(e.widened);
	pol_ruleset_release(&canonical);
	if (rc < 0)
		sbpl_profile_release(&prof);
	else
		*out = prof;
	return rc;
}

void sbpl_profile_show(const struct sbpl_profile *prof, struct b_str *out)
{
	for (size_t i = 0; i < prof->nparams; i++) {
		b_str_addf(out, "; -D %s=", prof->params[i].name);
		b_str_add_visible(out, prof->params[i].value, strlen(prof->params[i].value));
		b_str_addc(out, '\n');
	}
	b_str_addn(out, prof->text, prof->len);
	if (prof->nnotes)
		b_str_add(out, "\n;; beyond the rules, or short of them\n");
	for (size_t i = 0; i < prof->nnotes; i++) {
		b_str_add(out, "; ");
		b_str_add_visible(out, prof->notes[i], strlen(prof->notes[i]));
		b_str_addc(out, '\n');
	}
}
