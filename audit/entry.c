/* entry.c - see entry.h. */
#include "audit/entry.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "audit/jsonload.h"
#include "audit/lines.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"

static const struct {
	const char *key;
	size_t at;
} strings[] =
	{
		{"kind", offsetof(struct aud_entry, kind)},
		{"op", offsetof(struct aud_entry, op)},
		{"path", offsetof(struct aud_entry, path)},
		{"path2", offsetof(struct aud_entry, path2)},
		{"matched_rule", offsetof(struct aud_entry, matched_rule)},
		{"rule", offsetof(struct aud_entry, rule)},
		{"call", offsetof(struct aud_entry, call)},
		{"exe", offsetof(struct aud_entry, exe)},
		{"image", offsetof(struct aud_entry, image)},
		{"ts", offsetof(struct aud_entry, ts)},
		{"reason", offsetof(struct aud_entry, reason)},
},
  numbers[] = {
	  {"pid", offsetof(struct aud_entry, pid)},
	  {"ppid", offsetof(struct aud_entry, ppid)},
	  {"errno", offsetof(struct aud_entry, err)},
	  {"count", offsetof(struct aud_entry, count)},
	  {"lost", offsetof(struct aud_entry, lost)},
	  {"corrupt", offsetof(struct aud_entry, corrupt)},
	  {"abandoned", offsetof(struct aud_entry, abandoned)},
};

static int sextet(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* NULL when absent, no base64, or not a path (a NUL among the bytes). */
static char *decode(const json_t *v)
{
	const char *s = json_string_value(v);
	unsigned bits = 0, n = 0;
	struct b_str out = {0};

	if (!s)
		return NULL;
	b_str_addn(&out, "", 0);
	for (; *s && *s != '='; s++) {
		int six = sextet(*s);

		if (six < 0)
			break;
		bits = bits << 6 | (unsigned)six;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		b_str_addc(&out, (char)(bits >> n & 0xff));
	}
	if ((*s && *s != '=') || memchr(out.s, '\0', out.len)) {
		b_str_release(&out);
		return NULL;
	}
	return b_str_take(&out);
}

static void fill(struct aud_entry *e)
{
	json_t *const j = e->json;
	size_t i;

	for (i = 0; i < sizeof strings / sizeof *strings; i++) {
		const char *v = json_string_value(json_object_get(j, strings[i].key));

		memcpy((char *)e + strings[i].at, &(const char *){v ? v : ""}, sizeof v);
	}
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int64_t v = aud_json_int(json_object_get(j, numbers[i].key), 0);

		memcpy((char *)e + numbers[i].at, &v, sizeof v);
	}
	if (e->count < 1)
		e->count = 1;
	e->has_verdict = json_is_boolean(json_object_get(j, "allowed"));
	e->allowed = json_is_true(json_object_get(j, "allowed"));
	e->disagrees = json_is_true(json_object_get(j, "shim_disagrees"));
	e->unverified = json_is_true(json_object_get(j, "unverified"));
	e->exact = decode(json_object_get(j, "path_b64"));
	e->exact2 = decode(json_object_get(j, "path2_b64"));
	if (e->exact)
		e->path = e->exact;
	if (e->exact2)
		e->path2 = e->exact2;
}

int aud_entry_parse(const struct aud_line *line, struct aud_entry *out, const char **out_why)
{
	json_error_t why;
	struct aud_entry e = {0};

	if (line->too_long) {
		*out_why = "longer than any line of a log";
		return -1;
	}
	e.json = aud_json_load(line->s, line->len, &why);
	if (!e.json) {
		*out_why = "not JSON";
		return -1;
	}
	if (!json_is_string(json_object_get(e.json, "kind"))) {
		json_decref(e.json);
		*out_why = "not an event";
		return -1;
	}
	fill(&e);
	*out = e;
	return 0;
}

void aud_entry_release(struct aud_entry *e)
{
	json_decref(e->json);
	free(e->exact);
	free(e->exact2);
	*e = (struct aud_entry){0};
}

static bool glob_absolute(const char *glob, const char *path)
{
	return pol_glob_match(glob + (*glob == '/'), path + 1, strlen(path + 1));
}

/* A glob that begins with a slash, or with `**`, speaks of absolute paths too. */
static bool match_path(const struct aud_filter *f, const char *glob, const char *path)
{
	bool absolute = *glob == '/' || b_has_prefix(glob, "**");
	size_t i;

	if (*path == '/')
		return absolute && glob_absolute(glob, path);
	if (*path != '.' || (path[1] && path[1] != '/'))
		return false;
	path += path[1] ? 2 : 1; /* "./x" -> "x", "." -> "" */
	if (*glob != '/' &&
	    pol_glob_match(glob + (b_has_prefix(glob, "./") ? 2 : 0), path, strlen(path)))
		return true;
	for (i = 0; absolute && i < f->nworkspaces; i++) {
		b_auto(b_str_release) struct b_str full = {0};

		if (strcmp(f->workspaces[i], "/") != 0)
			b_str_add(&full, f->workspaces[i]);
		b_str_addf(&full, "/%s", path);
		if (full.len > 1 && !*path)
			full.s[--full.len] = '\0';
		if (glob_absolute(glob, full.s))
			return true;
	}
	return false;
}

static bool match_globs(const struct aud_filter *f, const struct aud_entry *e)
{
	size_t i;

	for (i = 0; i < f->nglobs; i++)
		if (match_path(f, f->globs[i], e->path) || match_path(f, f->globs[i], e->path2))
			return true;
	return f->nglobs == 0;
}

/* What was refused counts as denied, and so does what the policy denies but a process did. */
static bool is_denied(const struct aud_entry *e)
{
	return strcmp(e->kind, "denied") == 0 || (e->has_verdict && !e->allowed);
}

bool aud_filter_match(const struct aud_filter *f, const struct aud_entry *e)
{
	if (f->op >= 0 && strcmp(e->op, sbx_op_name((enum sbx_op)f->op)) != 0)
		return false;
	if (f->verdict != AUD_ANY_VERDICT &&
	    (!e->has_verdict || is_denied(e) != (f->verdict == AUD_ONLY_DENIED)))
		return false;
	if (f->pid >= 0 && e->pid != f->pid)
		return false;
	if (f->kind && strcmp(e->kind, f->kind) != 0)
		return false;
	return match_globs(f, e);
}
