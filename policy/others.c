/* others.c - what a document says beside its rules and settings: pol_others(), convert.h. */
#include <string.h>

#include "policy/convert.h"
#include "policy/convert_priv.h"
#include "policy/front/yaml.h"

static void add_word(struct b_str *out, const char *word)
{
	b_str_add(out, out->len ? ", " : "");
	b_str_add(out, word);
}

static void add_texts(struct b_str *out, const struct pol_texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		add_word(out, list->v[i].s);
}

static void of_user(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	if (f->user.s)
		b_str_addf(out, "user %s", f->user.s);
	if (f->group.s) {
		add_word(out, "group ");
		b_str_add(out, f->group.s);
	}
}

/* An empty list, an empty mapping and `false` say nothing. */
static bool is_nothing(const struct pol_ynode *n)
{
	return n->kind == POL_Y_NULL ||
	       ((n->kind == POL_Y_SEQ || n->kind == POL_Y_MAP) && n->n == 0) ||
	       (n->kind == POL_Y_BOOL && n->s[0] == 'f');
}

static void add_keys(const struct pol_ynode *map, const char *const *keys, struct b_str *out)
{
	for (; map && *keys; keys++) {
		const struct pol_ynode *n = pol_yaml_get(map, *keys);

		if (!n || is_nothing(n))
			continue;
		add_word(out, *keys);
		b_str_addc(out, ' ');
		cv_put_tree(out, n);
	}
}

/* As written: whether two texts mean the same nobody here can tell. */
static void of_network(const struct pol_doc *doc, struct b_str *out)
{
	static const char *const openshell[] = {"network_policies", "network_middlewares", NULL};
	static const char *const srt[] = {
		"allowedDomains",     "deniedDomains",	"httpProxyPort", "socksProxyPort",
		"strictAllowlist",    "parentProxy",	"mitmProxy",	 "allowAllDomains",
		"tlsTerminate",	      "filterRequest",	"deniedResolvedAddresses",
		"allowLocalBinding", "allowMachLookup", NULL};
	static const char *const caliban[] = {"allowed_domains", "denied_domains",
					      "http_proxy_port", "socks_proxy_port", NULL};
	const struct pol_ynode *root = doc->foreign.tree;

	if (doc->foreign.dialect == POL_DIALECT_openshell)
		add_keys(root, openshell, out);
	else if (doc->foreign.dialect == POL_DIALECT_srt)
		add_keys(pol_yaml_get(root, "network"), srt, out);
	else if (doc->foreign.dialect == POL_DIALECT_caliban)
		add_keys(pol_yaml_get(pol_yaml_get(root, "sandbox"), "network"), caliban, out);
}

static void of_no_env(const struct pol_doc *doc, struct b_str *out)
{
	add_texts(out, &doc->foreign.no_env);
}

static void of_pass_env(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_texts *list = &doc->settings.pass_env;

	for (size_t i = 0; i < list->n; i++) {
		add_word(out, list->v[i].s);
		/* `*` is a wildcard in the others */
		if (list->v[i].is_literal && strchr(list->v[i].s, '*'))
			b_str_add(out, " (that very name)");
	}
}

static void of_macos(const struct pol_doc *doc, struct b_str *out)
{
	add_texts(out, &doc->settings.macos);
}

static void of_listed(const struct pol_doc *doc, struct b_str *out)
{
	if (doc->foreign.must_exist)
		add_texts(out, &doc->foreign.listed);
}

static void of_bwrap(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	if (f->bwrap.s)
		b_str_addf(out, "%s%s", f->bwrap.s, f->must_have_bwrap ? ", to be trusted" : "");
	if (f->is_nested)
		add_word(out, "inside another sandbox");
}

/* Behind "file:line:column: ". */
static const char *behind_place(const struct pol_text *t)
{
	const char *s = t->s + strlen(t->pos.file);

	for (int i = 0; i < 3; i++)
		s = strchr(s, ':') + 1;
	return s + 1;
}

static void of_losses(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	for (size_t i = 0; i < f->losses.n; i++)
		add_word(out, behind_place(&f->losses.v[i]));
}

void pol_others(const struct pol_doc *doc, struct pol_other out[POL_SAID_MAX], size_t *out_n)
{
	static const struct {
		const char *name;
		void (*of)(const struct pol_doc *, struct b_str *out);
	} rows[] = {{"process", of_user},	   {"network rules", of_network},
		    {"variables taken", of_no_env}, {"passEnv", of_pass_env},
		    {"macos", of_macos},	   {"must be there", of_listed},
		    {"bwrap", of_bwrap},	   {"not enforced", of_losses}};
	enum { N = sizeof rows / sizeof *rows };

	_Static_assert(N <= POL_SAID_MAX, "room for all");
	for (size_t i = 0; i < N; i++) {
		out[i] = (struct pol_other){.name = rows[i].name};
		rows[i].of(doc, &out[i].value);
		if (out[i].value.len == 0)
			b_str_add(&out[i].value, "none");
	}
	*out_n = N;
}

void pol_others_release(struct pol_other *others, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b_str_release(&others[i].value);
}
