/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx-bundle - signed sets of managed policies: sbx-policy starts it for its word `bundle`, and
 * sbx-launch for --require-bundle. sbx-policy(1) has its words; `take` is the launcher's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"
#include "bundle/payload.h"
#include "bundle/sign.h"
#include "bundle/take.h"
#include "policy/document/documents.h"
#include "policy/document/model.h"

static const char me[] = "sbx-bundle";

/* sbx-policy's grammar */
enum { VALID, REFUSED, TROUBLE };

struct options {
	const char *key, *name, *expires, *output;
	uint64_t version;
	bool json, help, program_version;
	struct b_strlist words;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct b_opt table[] = {
	{"key", 0, "FILE", B_OPT_STR, AT(key),
	 .help = "Ed25519 key in PEM: the private key for make, the public one for check and show"},
	{"name", 0, "NAME", B_OPT_STR, AT(name),
	 .help = "make: name of the bundle, the same for all its versions"},
	{"bundle-version", 0, "N", B_OPT_U64, AT(version),
	 .help = "make: version number; a host refuses one lower than it has already used"},
	{"expires", 0, "TIME", B_OPT_STR, AT(expires),
	 .help = "make: when the bundle expires: 2027-01-31 or 2027-01-31T12:00:00Z"},
	{"output", 'o', "FILE", B_OPT_STR, AT(output), .help = "make: the file to write"},
	{"json", 0, NULL, B_OPT_FLAG, AT(json), .help = "check, show: print JSON"},
	{"help", 'h', NULL, B_OPT_FLAG, AT(help), .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, AT(program_version), .help = "the version"},
};
enum { OPTIONS = sizeof table / sizeof *table };

static const char usage[] =
	"usage: sbx-policy bundle make --key KEY --name NAME --bundle-version N --expires TIME\n"
	"                              -o FILE POLICY...\n"
	"       sbx-policy bundle check --key PUBLIC_KEY FILE   is it valid now?\n"
	"       sbx-policy bundle show --key PUBLIC_KEY FILE    what is in it\n\n"
	"Status: 0 made, valid; 1 refused, with the reason; 2 an error.\n\n";

static int fail(const struct b_err *err)
{
	b_report(me, err);
	return err->kind == B_POLICY || err->kind == B_FORMAT ? REFUSED : TROUBLE;
}

static int put(const struct b_str *text)
{
	return b_write_all(STDOUT_FILENO, b_str_c(text), text->len) < 0 ? TROUBLE : VALID;
}

static uint64_t now(void)
{
	return b_now_real_ns() / 1000000000;
}

/* ---- make ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What cannot be read as a policy is not signed. */
static int check_policy(const char *path, const struct b_str *text, struct b_err *err)
{
	const struct pol_input in = {.name = path,
				     .text = b_str_c(text),
				     .len = text->len,
				     .dialect = POL_DIALECT_orbit};
	struct pol_doc doc = {0};
	int rc = pol_documents_put(&in, &doc, err);

	pol_doc_release(&doc);
	return rc;
}

static int add_policy(struct bun_payload *p, const char *path, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct bun_policy *to = &p->policies[p->n];

	if (p->n == BUN_POLICIES_MAX)
		return b_fail(err, B_USAGE, 0, "more than %d policies", BUN_POLICIES_MAX);
	if (!bun_name_valid(base_name(path)))
		return b_fail(err, B_USAGE, 0, "%s: a name of letters, digits, -, _ and .", path);
	if (bun_payload_has(p, base_name(path)))
		return b_fail(err, B_USAGE, 0, "%s: another policy is called `%s`", path,
			      base_name(path));
	if (b_read_file(path, POL_MAX_FILE, &text, err) < 0 || check_policy(path, &text, err) < 0)
		return -1;
	to->name = b_arena_strndup(&p->arena, base_name(path), strlen(base_name(path)));
	to->text = b_arena_strndup(&p->arena, b_str_c(&text), text.len);
	to->len = text.len;
	if (!b_utf8_valid(to->text, to->len))
		return b_fail(err, B_USAGE, 0, "%s: not UTF-8", path);
	p->n++;
	return 0;
}

static int fill(const struct options *o, struct bun_payload *p, struct b_err *err)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	unsigned long long created = now();

	if (!o->key || !o->name || !o->version || !o->expires || !o->output || o->words.n < 2)
		return b_fail(err, B_USAGE, 0,
			      "make: --key, --name, --bundle-version (from 1), --expires, -o and "
			      "policies");
	if (!bun_name_valid(o->name))
		return b_fail(err, B_USAGE, 0, "--name: letters, digits, -, _ and ., at most %d",
			      BUN_NAME_MAX - 1);
	if (o->version > INT64_MAX)
		return b_fail(err, B_USAGE, 0, "--bundle-version: too large");
	if (!bun_time_parse(o->expires, &p->expires))
		return b_fail(err, B_USAGE, 0,
			      "--expires: `%s` is neither 2027-01-31 nor 2027-01-31T12:00:00Z",
			      o->expires);
	if (epoch && b_parse_u64(epoch, UINT32_MAX, &created) < 0)
		return b_fail(err, B_USAGE, 0, "SOURCE_DATE_EPOCH: not a number");
	p->created = created;
	if (p->expires <= created)
		return b_fail(err, B_USAGE, 0, "--expires: %s is in the past", o->expires);
	p->version = o->version;
	memcpy(p->name, o->name, strlen(o->name) + 1);
	for (size_t i = 1; i < o->words.n; i++)
		if (add_policy(p, o->words.v[i], err) < 0)
			return -1;
	return 0;
}

static int make(const struct options *o)
{
	b_auto(bun_payload_release) struct bun_payload p = {0}, again = {0};
	b_auto(b_str_release) struct b_str payload = {0}, text = {0};
	unsigned char signature[BUN_SIGNATURE];
	const unsigned mode = 0644;
	struct b_err err;

	if (fill(o, &p, &err) < 0)
		return fail(&err), TROUBLE; /* nothing was refused yet */
	bun_payload_write(&p, &payload);
	if (bun_payload_read(payload.s, payload.len, &again, &err) < 0 ||
	    bun_sign(o->key, &payload, signature, &err) < 0)
		return fail(&err);
	bun_file_write(&payload, signature, &text);
	if (text.len > BUN_FILE_MAX) {
		b_fail(&err, B_LIMIT, 0, "the bundle is larger than %u bytes", BUN_FILE_MAX);
		return fail(&err);
	}
	if (b_replace_file(o->output, &mode, text.s, text.len, &err) < 0)
		return fail(&err);
	b_str_reset(&text);
	b_str_addf(&text, "%s: version %llu of `%s`, %s\n", o->output,
		   (unsigned long long)p.version, p.name, again.digest);
	return put(&text);
}

/* ---- check, show ---- */

static void add_json(struct b_json *j, const struct bun_payload *p, bool with_texts)
{
	b_auto(b_str_release) struct b_str when = {0};

	bun_time_add(p->expires, &when);
	b_json_key(j, "name");
	b_json_str(j, p->name);
	b_json_key(j, "version");
	b_json_u64(j, p->version);
	b_json_key(j, "expires");
	b_json_str(j, b_str_c(&when));
	b_json_key(j, "digest");
	b_json_str(j, p->digest);
	b_json_key(j, "policies");
	b_json_open(j, '[');
	for (size_t i = 0; i < p->n; i++) {
		b_json_open(j, '{');
		b_json_key(j, "name");
		b_json_str(j, p->policies[i].name);
		if (with_texts) {
			b_json_key(j, "text");
			b_json_strn(j, p->policies[i].text, p->policies[i].len);
		}
		b_json_close(j, '}');
	}
	b_json_close(j, ']');
}

static void add_text(struct b_str *out, const struct bun_payload *p, bool with_texts)
{
	b_str_addf(out, "%s version %llu, %zu policies, expires ", p->name,
		   (unsigned long long)p->version, p->n);
	bun_time_add(p->expires, out);
	b_str_addf(out, "\ndigest %s\n", p->digest);
	for (size_t i = 0; i < p->n; i++) {
		b_str_addf(out, "%s%s\n", with_texts ? "# " : "", p->policies[i].name);
		if (with_texts)
			b_str_addn(out, p->policies[i].text, p->policies[i].len);
	}
}

static int check(const struct options *o, bool with_texts)
{
	b_auto(bun_payload_release) struct bun_payload p = {0};
	b_auto(b_str_release) struct b_str out = {0};
	struct b_json j = {.out = &out};
	bool is_expired;
	struct b_err err;

	if (!o->key || o->words.n != 2) {
		b_fail(&err, B_USAGE, 0, "%s: --key PUBLIC_KEY and a file", o->words.v[0]);
		return fail(&err);
	}
	if (bun_open(o->words.v[1], o->key, now(), &p, &is_expired, &err) < 0)
		return fail(&err);
	if (o->json) {
		b_json_open(&j, '{');
		add_json(&j, &p, with_texts);
		b_json_close(&j, '}');
		b_str_addc(&out, '\n');
	} else {
		add_text(&out, &p, with_texts);
	}
	return put(&out);
}

/* ---- take ---- */

/* For the launcher: what is in force, on standard output; why not, by status and standard error. */
static int take(const struct options *o)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto_free char *root = NULL;
	struct b_json j = {.out = &out};
	struct bun_taken taken;
	struct b_err err;

	if (!o->key || o->words.n != 2) {
		b_fail(&err, B_USAGE, 0, "take: only sbx-launch uses this");
		return fail(&err);
	}
	root = aud_runs_root(&err);
	if (!root || bun_take(o->words.v[1], o->key, root, now(), &taken, &err) < 0)
		return fail(&err);
	b_json_open(&j, '{');
	add_json(&j, &taken.payload, true);
	b_json_key(&j, "kept");
	b_json_bool(&j, taken.is_kept);
	b_json_key(&j, "refused");
	b_json_str(&j, taken.refused);
	b_json_close(&j, '}');
	bun_payload_release(&taken.payload);
	return put(&out);
}

/* ---- the program ---- */

static int help(bool version)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (version) {
		b_str_addf(&text, "%s %s\n", me, SBX_VERSION);
	} else {
		b_str_add(&text, usage);
		b_opt_help(table, OPTIONS, &text);
	}
	return put(&text);
}

static int dispatch(const struct options *o)
{
	const char *word = o->words.n ? o->words.v[0] : "";
	struct b_err err;

	if (strcmp(word, "make") == 0)
		return make(o);
	if (strcmp(word, "check") == 0 || strcmp(word, "show") == 0)
		return check(o, *word == 's');
	if (strcmp(word, "take") == 0)
		return take(o);
	b_fail(&err, B_USAGE, 0, "bundle: expected make, check or show, not `%s`; see --help",
	       word);
	return fail(&err);
}

int main(int argc, char **argv)
{
	struct options o = {0};
	struct b_err err;
	int rest, status;

	if (b_fill_stdio() < 0)
		return TROUBLE;
	if (b_opt_parse(table, OPTIONS, argc, argv, &o, &o.words, &rest, &err) < 0)
		status = fail(&err);
	else if (o.help || o.program_version)
		status = help(!o.help);
	else
		status = dispatch(&o);
	b_strlist_release(&o.words);
	return status;
}
