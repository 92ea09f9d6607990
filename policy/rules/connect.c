/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - `connect` and `denyConnect` on this host: endpoints, the programs they are for, and
 * paths of sockets. */
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/document/settings.h"
#include "policy/front/dialect.h"
#include "policy/rules/build.h"

/* ---- programs ---- */

/* A file is known by what is there now: its path is only how people call it. */
static void find_program(struct pol_build *b, const struct pol_text *text, const char *path,
			 struct pol_program *out)
{
	const char *real = pol_canonical(&b->rs->arena, path);
	struct stat st;

	*out = (struct pol_program){.text = real};
	if (stat(real, &st) == 0 && S_ISREG(st.st_mode)) {
		out->dev = st.st_dev;
		out->ino = st.st_ino;
	} else if (!b_has_prefix(text->pos.file, "preset:")) {
		pol_build_notice(
			b, "%s:%u:%u: there is no program at %s: this part of `by` allows none",
			text->pos.file, text->pos.line, text->pos.col, text->s);
	}
}

static void add_program(struct pol_build *b, const struct pol_text *text, struct pol_programs *out,
			struct pol_program *v)
{
	size_t head = pol_root_head(text->s);
	const char *dir = pol_root_dir(b, text->s, 0), *path;

	if (!dir)
		return; /* this host has no such place */
	path = pol_build_join(b, dir, pol_components(&b->rs->arena, text->s + head));
	if (pol_program_is_glob(text->s + head))
		v[out->n] = (struct pol_program){.text = path, .glob = path + 1};
	else
		find_program(b, text, path, &v[out->n]);
	out->n++;
}

/* Of programs that are nowhere the rule is nobody's, not everybody's. */
static struct pol_programs programs_of(struct pol_build *b, const struct pol_texts *by)
{
	struct pol_program *v = b_arena_alloc(&b->rs->arena, (by->n + 1) * sizeof *v);
	struct pol_programs out = {v, 0};

	for (size_t i = 0; i < by->n; i++)
		add_program(b, &by->v[i], &out, v);
	if (by->n && out.n == 0)
		v[out.n++] = (struct pol_program){.text = by->v[0].s};
	return out;
}

/* ---- endpoints ---- */

static void add_loopback(struct pol_ruleset *rs, const struct pol_endpoint *of)
{
	static const char *const texts[] = {"127.0.0.1", "::1"};

	for (size_t i = 0; i < 2; i++) {
		struct pol_endpoint e = *of;

		e.shape = POL_HOST_RANGE;
		e.host = NULL;
		(void)sbx_cidr_parse(texts[i], strlen(texts[i]), &e.range);
		pol_endpoints_add(rs, &e);
	}
}

/* Where a name of any kind is meant, the places are themselves what may be dialled. */
static void add_places(struct pol_ruleset *rs, const struct pol_endpoint *of)
{
	for (size_t i = 0; i < of->nplaces; i++) {
		struct pol_endpoint e = *of;

		e.shape = POL_HOST_RANGE;
		e.range = of->places[i];
		pol_endpoints_add(rs, &e);
	}
}

static int find_places(struct b_arena *a, const struct pol_connect *c, struct pol_endpoint *e,
		       struct b_err *err)
{
	struct sbx_cidr *v = b_arena_alloc(a, (c->places.n + 1) * sizeof *v);

	for (size_t i = 0; i < c->places.n; i++)
		if (!sbx_cidr_parse(c->places.v[i].s, strlen(c->places.v[i].s), &v[i]))
			return b_fail(err, B_POLICY, 0, "`%s`: expected an address or a range",
				      c->places.v[i].s);
	e->places = v;
	e->nplaces = c->places.n;
	return 0;
}

int pol_connect_lower(struct pol_ruleset *rs, const struct pol_connect *c, struct pol_endpoint *e,
		      struct b_err *err)
{
	e->allow = c->allow;
	e->requests = c->http;
	e->is_shut = c->is_shut;
	if ((c->is_foreign ? pol_endpoint_parse_foreign : pol_endpoint_parse)(&rs->arena, c->to.s,
									      e, err) < 0 ||
	    (c->has_places && find_places(&rs->arena, c, e, err) < 0))
		return -1;
	if (rs->net.n >= POL_MAX_RULES)
		return b_fail(err, B_LIMIT, 0, "more than %d rules on endpoints", POL_MAX_RULES);
	if (c->has_places && e->shape == POL_HOST_ALL)
		e->shape = POL_HOST_NAMES;
	pol_endpoints_add(rs, e);
	if (e->shape == POL_HOST_NAMES)
		add_places(rs, e);
	/* what resolvers say of this name inside, whatever the hosts file says outside */
	if (e->shape == POL_HOST_NAME && !e->is_shut && strcmp(e->host, "localhost") == 0)
		add_loopback(rs, e);
	return 0;
}

static int add_endpoint(struct pol_build *b, const struct pol_connect *c, enum pol_tier tier,
			const char *origin, struct b_err *err)
{
	struct pol_endpoint e = {.layer = pol_build_layer_number(b),
				 .tier = (uint8_t)tier,
				 .origin = origin,
				 .by = programs_of(b, &c->by)};

	if (pol_connect_lower(b->rs, c, &e, err) < 0)
		return b_wrap(err, "%s", origin);
	return 0;
}

static int add_list(struct pol_build *b, const struct pol_connects *list, enum pol_tier tier,
		    struct b_err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (!pol_is_socket_path(list->v[i].to.s) &&
		    add_endpoint(b, &list->v[i], tier, pol_build_origin(b, &list->v[i].to.pos),
				 err) < 0)
			return -1;
	return 0;
}

/* Of the main document: a layer beside it only tightens. */
static void add_trusted(struct pol_build *b, const struct pol_texts *list)
{
	struct sbx_cidr *v = b_arena_alloc(&b->rs->arena, (list->n + 1) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += sbx_cidr_parse(list->v[i].s, strlen(list->v[i].s), &v[n]);
	b->rs->net.trusted = v;
	b->rs->net.ntrusted = n;
}

/* A document of another layer that says nothing of the network leaves it as it is. */
static bool is_open(const struct pol_build *b, const struct pol_settings *s,
		    const struct pol_effective *eff)
{
	const struct pol_setting_value *v = &s->value[POL_SET_network];

	if (!b->at)
		return b->opens_network;
	if (v->said)
		return v->v == POL_NET_HOST;
	return eff->connect.n == 0 && eff->deny_connect.n == 0 && s->connect.n == 0;
}

static bool is_watched(const struct pol_build *b, const struct pol_settings *s)
{
	const struct pol_setting_value *v = &s->value[POL_SET_network];
	int option = !b->at && b->rq->said ? b->rq->said->v[POL_SET_network] : POL_UNSAID;

	return option != POL_UNSAID ? option == POL_NET_WATCH : v->said && v->v == POL_NET_WATCH;
}

int pol_build_connect(struct pol_build *b, const struct pol_settings *s,
		      const struct pol_effective *eff, struct b_err *err)
{
	bool open = is_open(b, s, eff);

	if (b->rs->net.nlayers == SBX_LAYERS_MAX)
		return b_fail(err, B_LIMIT, 0, "more than %d layers of documents", SBX_LAYERS_MAX);
	pol_endpoints_layer(b->rs, pol_build_layer_number(b), open);
	if (is_watched(b, s))
		pol_endpoints_watch(b->rs, pol_build_layer_number(b));
	if (open)
		return 0;
	if (!b->at)
		add_trusted(b, &s->trusted);
	if (add_list(b, &s->connect, POL_TIER_SIDE, err) < 0 ||
	    add_list(b, &eff->connect, POL_TIER_PROFILE, err) < 0)
		return -1;
	return add_list(b, &eff->deny_connect, POL_TIER_DENY, err);
}

int pol_build_connect_cli(struct pol_build *b, struct b_err *err)
{
	for (size_t i = 0; i < b->rq->nrules; i++) {
		const struct pol_cli_rule *c = &b->rq->rules[i];
		const struct pol_connect entry = {.to = {.s = c->text}, .allow = c->allow};

		if (!c->is_endpoint)
			continue;
		if (add_endpoint(b, &entry, POL_TIER_CLI,
				 b_arena_printf(&b->rs->arena, "cli:%s:%u", c->option, c->nth),
				 err) < 0) {
			err->kind = B_USAGE;
			return -1;
		}
	}
	return 0;
}

/* ---- sockets ---- */

static void add_sockets(struct pol_build *b, const struct pol_connects *list, enum pol_tier tier)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pol_absolute t = {
			.op = SBX_CONNECT, .allow = list->v[i].allow, .tier = tier};

		if (pol_is_socket_path(list->v[i].to.s))
			pol_build_root(b, &t, &list->v[i].to);
	}
}

void pol_build_connect_sockets(struct pol_build *b, const struct pol_settings *s,
			       const struct pol_effective *eff)
{
	const struct pol_said *said = b->rq->said;

	/* as for `unixSockets`: a layer's count where the main document opens some */
	if (b->at ? !b->has_sockets : said && said->v[POL_SET_unixSockets] == POL_UNIX_NONE)
		return;
	add_sockets(b, &s->connect, POL_TIER_SIDE);
	add_sockets(b, &eff->connect, POL_TIER_PROFILE);
	add_sockets(b, &eff->deny_connect, POL_TIER_DENY);
}

bool pol_connects_have_socket(const struct pol_connects *list, bool allow)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].allow == allow && pol_is_socket_path(list->v[i].to.s))
			return true;
	return false;
}

/* ---- what of the network holds ---- */

/* Of several places that say what the endpoints are, the first; NULL: nobody does. Presets bring
 * theirs for runs that have rules, and say nothing against the whole network. */
static const struct pol_connect *first_endpoint(const struct pol_connects *list, bool allows_only)
{
	for (size_t i = 0; i < list->n; i++)
		if (!pol_is_socket_path(list->v[i].to.s) &&
		    !b_has_prefix(list->v[i].to.pos.file, "preset:") &&
		    (list->v[i].allow || !allows_only))
			return &list->v[i];
	return NULL;
}

static const struct pol_connect *said_by(const struct pol_settings *s,
					 const struct pol_effective *eff, bool allows_only)
{
	const struct pol_connect *c = first_endpoint(&s->connect, allows_only);

	c = c ? c : first_endpoint(&eff->connect, allows_only);
	return c ? c : first_endpoint(&eff->deny_connect, allows_only);
}

static const struct pol_cli_rule *cli_endpoint(const struct pol_request *rq, bool allows_only)
{
	for (size_t i = 0; i < rq->nrules; i++)
		if (rq->rules[i].is_endpoint && (rq->rules[i].allow || !allows_only))
			return &rq->rules[i];
	return NULL;
}

static int check_host(const struct pol_build *b, const struct pol_effective *eff, bool by_option,
		      struct b_err *err)
{
	const struct pol_settings *s = &b->layers->main.settings;
	const struct pol_connect *c = said_by(s, eff, false);
	const struct pol_cli_rule *r = cli_endpoint(b->rq, false);
	const struct pol_pos *pos = &s->value[POL_SET_network].pos;

	if (pol_doc_is_foreign(&b->layers->main))
		c = NULL; /* its own language says what both together are */
	if (c)
		return b_fail(
			err, by_option ? B_USAGE : B_POLICY, 0,
			"%s:%u:%u: `%s` names an endpoint, but %s opens all: leave out one of them",
			c->to.pos.file, c->to.pos.line, c->to.pos.col, c->to.s,
			by_option ? "--network host" : "network: host");
	if (r && by_option)
		return b_fail(err, B_USAGE, 0,
			      "%s %s names an endpoint, and --network host opens all of them: "
			      "leave out one of the two",
			      r->option, r->text);
	if (r)
		return b_fail(err, B_USAGE, 0,
			      "%s %s names an endpoint, and %s:%u:%u opens all of them: add "
			      "--network none",
			      r->option, r->text, pos->file, pos->line, pos->col);
	return 0;
}

static bool denies_socket(const struct pol_doc *doc)
{
	bool denies = pol_connects_have_socket(&doc->deny_connect, false) ||
		      pol_connects_have_socket(&doc->settings.connect, false);

	for (size_t i = 0; i < doc->nprofiles; i++)
		denies |= pol_connects_have_socket(&doc->profiles[i].connect, false);
	return denies;
}

/* All sockets but some are open, whichever document denies those: they are asked for one by one. */
static void settle_sockets(struct pol_build *b, const struct pol_effective *eff)
{
	struct pol_effect *e = &b->layers->effect;
	bool denies = pol_connects_have_socket(&eff->deny_connect, false) ||
		      pol_connects_have_socket(&eff->connect, false);

	for (size_t i = 0; i < b->rq->nrules; i++) {
		const struct pol_cli_rule *c = &b->rq->rules[i];

		denies |= c->op == SBX_CONNECT && !c->is_endpoint && !c->allow;
	}
	for (size_t i = 0; i < b->layers->n; i++)
		denies |= denies_socket(&b->layers->v[i].doc);
	if (!denies || e->unix_ != POL_UNIX_HOST)
		return;
	e->unix_ = POL_UNIX_NONE;
	e->all_sockets = true;
}

int pol_build_network(struct pol_build *b, const struct pol_effective *eff, struct b_err *err)
{
	const struct pol_setting_value *v = &b->layers->main.settings.value[POL_SET_network];
	int option = b->rq->said ? b->rq->said->v[POL_SET_network] : POL_UNSAID;

	b->opens_network =
		option != POL_UNSAID ? option == POL_NET_HOST : v->said && v->v == POL_NET_HOST;
	settle_sockets(b, eff);
	return b->opens_network ? check_host(b, eff, option != POL_UNSAID, err) : 0;
}

void pol_build_network_held(struct pol_build *b, const struct pol_effective *eff)
{
	const struct pol_doc *doc = &b->layers->main;
	const struct pol_connect *c = said_by(&doc->settings, eff, true);
	const struct pol_cli_rule *r = cli_endpoint(b->rq, true);
	bool is_watch = b->layers->effect.network == POL_NET_WATCH;
	static const char why[] = "rules on endpoints are not enforced here: --best-effort runs "
				  "the command without a network";

	if (b->rq->with_endpoints) {
		if (is_watch)
			pol_build_notice(b, "network watch: what rules on endpoints deny is "
					    "recorded, and passes");
		return;
	}
	if (is_watch)
		pol_build_loss(b, "network watch does not work here: --best-effort runs the "
				  "command without a network");
	else if (c && !pol_doc_is_foreign(doc))
		pol_build_loss(b, "%s:%u:%u: connect `%s`: %s", c->to.pos.file, c->to.pos.line,
			       c->to.pos.col, c->to.s, why);
	else if (r)
		pol_build_loss(b, "%s %s: %s", r->option, r->text, why);
}
