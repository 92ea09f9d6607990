/* settings.c - see settings.h. */
#include "policy/settings.h"

#include "base/err.h"

const char *pol_setting_words(enum pol_setting s)
{
	static const char *const words[] = {
#define X(key, words) [POL_SET_##key] = words,
		POL_SETTINGS(X)
#undef X
	};

	return words[s];
}

const char *pol_setting_name(enum pol_setting s)
{
	static const char *const names[] = {
#define X(key, words) [POL_SET_##key] = #key,
		POL_SETTINGS(X)
#undef X
	};

	return names[s];
}

struct pol_said pol_said_nothing(void)
{
	struct pol_said said;

	for (int i = 0; i < POL_SETTING_COUNT; i++)
		said.v[i] = POL_UNSAID;
	return said;
}

/* One setting on its way: what is asked for, then what the limits leave of it. */
struct limits {
	const struct pol_settings *doc;
	const struct pol_settings *const *v;
	size_t n;
	const struct pol_said *cli;
};

static int asked(const struct limits *l, enum pol_setting s, int dflt)
{
	const struct pol_setting_value *doc = &l->doc->value[s];

	if (l->cli->v[s] != POL_UNSAID)
		return l->cli->v[s];
	return doc->said ? doc->v : dflt;
}

static int least(const struct limits *l, enum pol_setting s, int dflt)
{
	int v = asked(l, s, dflt);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->value[s].said && l->v[i]->value[s].v < v)
			v = l->v[i]->value[s].v;
	return v;
}

static int most(const struct limits *l, enum pol_setting s, int dflt)
{
	int v = asked(l, s, dflt);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->value[s].said && l->v[i]->value[s].v > v)
			v = l->v[i]->value[s].v;
	return v;
}

/* Said by `strict` or the other way round by `allowFallback`; POL_UNSAID. */
static int says_lax(const struct pol_settings *s, const struct pol_pos **out_pos)
{
	const struct pol_setting_value *strict = &s->value[POL_SET_strict];
	const struct pol_setting_value *fallback = &s->value[POL_SET_allowFallback];

	if (!strict->said && !fallback->said)
		return POL_UNSAID;
	*out_pos = strict->said ? &strict->pos : &fallback->pos;
	return strict->said ? !strict->v : fallback->v;
}

static void settle_sockets(const struct limits *l, struct pol_effect *out)
{
	if (asked(l, POL_SET_unixSockets, POL_UNIX_NONE) != POL_UNIX_HOST ||
	    out->unix_ == POL_UNIX_HOST)
		return;
	for (size_t i = 0; i < l->n; i++)
		out->all_sockets |= l->v[i]->roots[POL_ROOTS_sockets].n > 0;
}

static void settle_lax(const struct limits *l, struct pol_effect *out)
{
	const struct pol_pos *pos;
	int doc = says_lax(l->doc, &pos);

	out->lax = doc == 1;
	if (l->cli->v[POL_SET_strict] != POL_UNSAID)
		out->lax = !l->cli->v[POL_SET_strict];
	for (size_t i = 0; i < l->n && out->lax; i++)
		if (says_lax(l->v[i], &pos) == 0) {
			out->lax = false;
			out->forbids_lax = pos;
		}
}

static int check_enabled(const struct pol_settings *s, struct b_err *err)
{
	const struct pol_setting_value *v = &s->value[POL_SET_enabled];

	if (!v->said || v->v)
		return 0;
	return b_fail(err, B_POLICY, 0,
		      "%s:%u:%u: sandbox.enabled is false: nothing is run without a sandbox: "
		      "remove the key, or start the command without sbx-launch",
		      v->pos.file, v->pos.line, v->pos.col);
}

int pol_settings_settle(const struct pol_settings *doc, const struct pol_settings *const *limits,
			size_t nlimits, const struct pol_said *cli, bool has_document,
			struct pol_effect *out, struct b_err *err)
{
	const struct limits l = {doc, limits, nlimits, cli};

	if (check_enabled(doc, err) < 0)
		return -1;
	for (size_t i = 0; i < nlimits; i++)
		if (check_enabled(limits[i], err) < 0)
			return -1;
	*out = (struct pol_effect){
		.reads = (enum pol_reads)most(&l, POL_SET_reads, POL_READS_BROAD),
		.network = (enum pol_network)least(&l, POL_SET_network, POL_NET_NONE),
		.unix_ = (enum pol_unix)least(&l, POL_SET_unixSockets, POL_UNIX_NONE),
		.env = (enum pol_env)most(&l, POL_SET_env, POL_ENV_KEEP),
		.scratch = least(&l, POL_SET_scratch, true),
		/* A document says itself what may be written. */
		.cache = least(&l, POL_SET_cache, !has_document),
	};
	settle_sockets(&l, out);
	settle_lax(&l, out);
	return 0;
}
