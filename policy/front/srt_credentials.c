/*
 * srt_credentials.c - `credentials` of srt's settings: files that are not to be read, variables
 * that are not to be had. Where a credential is to be masked, srt's proxy would put it back on the
 * way out: there is no such proxy here, so it is closed, as srt itself does on macOS, and that is a
 * loss.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/front/foreign.h"

#define KEYS(rows) rows, sizeof(rows) / sizeof *(rows)

static int take_mode(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	int mask;

	if (pol_foreign_word(f, value, key->s, "deny|mask", &mask) < 0)
		return -1;
	if (mask)
		pol_foreign_loss(f->doc, &value->pos,
				 "credentials: nothing masks a credential here: it is closed");
	return 0;
}

/* allowRead is for what denyRead closes. */
static int close_for_good(struct pol_front *f, const struct pol_ynode *value)
{
	struct pol_texts *list = &f->doc->settings.roots[POL_ROOTS_denyRead];
	size_t from = list->n;

	if (pol_srt_path(f, value, POL_ROOTS_denyRead) < 0)
		return -1;
	for (size_t i = from; i < list->n; i++)
		list->v[i].is_final = true;
	return 0;
}

static int take_path(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_foreign_string(f, key, value) < 0)
		return -1;
	if (value->len == 0)
		return pol_pos_fail(f->err, &value->pos, "path: empty, expected some text");
	return close_for_good(f, value);
}

static bool is_variable(const char *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char digits[] = "0123456789";

	if (!*s || !strchr(letters, *s))
		return false;
	for (; *s; s++)
		if (!strchr(letters, *s) && !strchr(digits, *s))
			return false;
	return true;
}

static int take_name(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	if (pol_foreign_string(f, key, value) < 0)
		return -1;
	if (!is_variable(value->s))
		return pol_pos_fail(f->err, &value->pos,
				    "`%s` is no name of a variable, expected letters, digits and _",
				    value->s);
	pol_texts_add(f->doc, &f->doc->foreign.no_env,
		      (struct pol_text){.s = value->s, .pos = value->pos, .is_literal = true});
	return 0;
}

static int take_no_match(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "warn|deny|error", &ignored);
}

static int take_decode(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "jwt", &ignored);
}

/* How to mask: what is closed needs none of it. */
#define MASKING                                                                                    \
	{.name = "extract", .take = pol_foreign_string},                                           \
		{.name = "onExtractNoMatch", .take = take_no_match},                               \
		{.name = "decode", .take = take_decode},                                           \
		{.name = "maskClaims", .take = pol_foreign_texts},                                 \
		{.name = "maskDuplicates", .take = pol_foreign_either},                            \
	{                                                                                          \
		.name = "injectHosts", .take = pol_foreign_texts                                   \
	}

static int take_each(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value, const struct pol_key *rows, size_t n)
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (pol_front_map(f, value->v[i], key->s, true, rows, n) < 0)
			return -1;
	return 0;
}

static int take_files(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "path", .required = true, .take = take_path},
		{.name = "mode", .required = true, .take = take_mode},
		MASKING,
	};

	return take_each(f, key, value, KEYS(rows));
}

static int take_variables(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "name", .required = true, .take = take_name},
		{.name = "mode", .required = true, .take = take_mode},
		MASKING,
	};

	return take_each(f, key, value, KEYS(rows));
}

/* Variables named here are masked above, or this is a mistake of srt's to find. */
static int take_pairs(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "accessKeyIdVar", .required = true, .take = take_name},
		{.name = "secretAccessKeyVar", .required = true, .take = take_name},
		{.name = "sessionTokenVar", .take = take_name},
	};

	return take_each(f, key, value, KEYS(rows));
}

static int take_policy(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	int ignored;

	return pol_foreign_word(f, value, key->s, "deny|passthrough", &ignored);
}

static int take_sigv4(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "streaming", .take = take_policy},
		{.name = "presigned", .take = take_policy},
		{.name = "sigv4a", .take = take_policy},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}

int pol_srt_credentials(struct pol_front *f, const struct pol_ynode *key,
			const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "files", .take = take_files},
		{.name = "envVars", .take = take_variables},
		{.name = "allowPlaintextInject", .take = pol_foreign_either},
		{.name = "awsPairs", .take = take_pairs},
		{.name = "sigv4", .take = take_sigv4},
	};

	return pol_front_map(f, value, key->s, true, KEYS(rows));
}
