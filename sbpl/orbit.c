/* SPDX-License-Identifier: Apache-2.0 */
/* orbit.c - Orbit's own profile, in its documented order, for those who move from it: broad reads
 * and services, literals as subtrees, denials of reading last. Nothing guards moves and links. */
#include <string.h>

#include "sbpl/emit.h"
#include "base/mem.h"

#define BROAD_RULES 17

static const char broad[] = "(version 1)\n"
			    "(deny default)\n"
			    "(allow file-read*)\n"
			    "(allow process*)\n"
			    "(allow signal)\n"
			    "(allow ipc-posix*)\n"
			    "(allow mach*)\n"
			    "(allow system-fsctl)\n"
			    "(allow system-socket)\n"
			    "(allow system-mac-syscall (mac-policy-name \"vnguard\"))\n"
			    "(allow system-mac-syscall (require-all (mac-policy-name \"Sandbox\") "
			    "(mac-syscall-number 67)))\n"
			    "(allow network*)\n"
			    "(allow sysctl*)\n"
			    "(allow iokit*)\n"
			    "(allow file-write* (subpath \"/tmp\"))\n"
			    "(allow file-write* (subpath \"/private/tmp\"))\n"
			    "(allow file-write* (subpath \"/private/var/folders\"))\n"
			    "(allow file-write* (subpath \"/dev\"))\n";

static bool is_set(const char *s)
{
	return s && *s;
}

static int allow_path(struct sbpl_emit *e, const char *kind, const char *dir, const char *name)
{
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s%s", dir, name);
	b_str_addf(&e->out, "(allow file-write* (%s ", kind);
	sbpl_put_string(&e->out, path.s, path.len);
	b_str_add(&e->out, "))\n");
	return sbpl_count_rules(e, 1, "the providers");
}

/* `tail` is a regex already, of names beside the literal `dir` + `name`. */
static int allow_like(struct sbpl_emit *e, const char *dir, const char *name, const char *tail)
{
	b_auto(b_str_release) struct b_str re = {0};

	b_str_addc(&re, '^');
	sbpl_re_literal(&re, dir, strlen(dir), false);
	sbpl_re_literal(&re, name, strlen(name), false);
	b_str_addf(&re, "%s$", tail);
	b_str_add(&e->out, "(allow file-write* (regex ");
	sbpl_put_string(&e->out, re.s, re.len);
	b_str_add(&e->out, "))\n");
	return sbpl_count_rules(e, 1, "the providers");
}

/* A provider's state: the directory named by its variable, else below the home. */
static int put_provider(struct sbpl_emit *e, const char *variable, const char *name)
{
	if (is_set(variable))
		return allow_path(e, "subpath", variable, "");
	return is_set(e->o->orbit.home) ? allow_path(e, "subpath", e->o->orbit.home, name) : 0;
}

static int put_claude_siblings(struct sbpl_emit *e)
{
	const struct sbpl_orbit_env *env = &e->o->orbit;

	if (is_set(env->claude_config_dir) || !is_set(env->home))
		return 0;
	if (allow_path(e, "literal", env->home, "/.claude.json") < 0 ||
	    allow_path(e, "literal", env->home, "/.claude.json.lock") < 0)
		return -1;
	return allow_like(e, env->home, "/.claude.json.tmp.", "[0-9]+\\.[0-9]+");
}

static int put_grok_files(struct sbpl_emit *e)
{
	static const char *const files[] = {"/auth.json", "/mcp_credentials.json",
					    "/models_cache.json"};
	const struct sbpl_orbit_env *env = &e->o->orbit;
	b_auto(b_str_release) struct b_str dir = {0};

	if (!is_set(env->grok_home) && !is_set(env->home))
		return 0;
	b_str_addf(&dir, "%s%s", is_set(env->grok_home) ? env->grok_home : env->home,
		   is_set(env->grok_home) ? "" : "/.grok");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		b_auto(b_str_release) struct b_str lock = {0};

		b_str_addf(&lock, "%s.lock", files[i]);
		if (allow_path(e, "literal", dir.s, files[i]) < 0 ||
		    allow_path(e, "literal", dir.s, lock.s) < 0 ||
		    allow_like(e, dir.s, files[i], "\\.tmp(?:\\.[0-9]+)*") < 0)
			return -1;
	}
	return allow_like(e, dir.s, "/mcp_auth_", "[^/]+\\.lock");
}

static int put_home(struct sbpl_emit *e)
{
	const struct sbpl_orbit_env *env = &e->o->orbit;

	if (is_set(env->home) && (allow_path(e, "subpath", env->home, "/Library/Caches") < 0 ||
				  allow_path(e, "subpath", env->home, "/.orbit/state/logs") < 0))
		return -1;
	if (put_provider(e, env->codex_home, "/.codex") < 0 ||
	    put_provider(e, env->claude_config_dir, "/.claude") < 0 ||
	    put_provider(e, NULL, "/.gemini") < 0 || put_provider(e, env->grok_home, "/.grok") < 0)
		return -1;
	return put_claude_siblings(e) < 0 ? -1 : put_grok_files(e);
}

/* Orbit's table of pieces; a trailing slash-star-star behind a wildcard is nothing special. */
static void put_pattern(struct sbpl_emit *e, const struct pol_rule *r)
{
	b_auto(b_str_release) struct b_str re = {0};
	bool fold = !e->o->exact_case;

	b_str_addc(&re, '^');
	sbpl_re_literal(&re, r->base, r->base_len, fold);
	b_str_addc(&re, '/');
	for (const char *p = r->glob; *p;) {
		if (strncmp(p, "**/", 3) == 0) {
			b_str_add(&re, "(?:.*/)?");
			p += 3;
		} else if (strncmp(p, "**", 2) == 0) {
			b_str_add(&re, ".*");
			p += 2;
		} else if (*p == '*' || *p == '?') {
			b_str_add(&re, *p++ == '*' ? "[^/]*" : "[^/]");
		} else {
			sbpl_re_literal(&re, p++, 1, fold);
		}
	}
	b_str_addc(&re, '$');
	b_str_add(&e->out, "(regex ");
	sbpl_put_string(&e->out, re.s, re.len);
	b_str_addc(&e->out, ')');
}

/* Orbit's own rules are those of its document: no set, scratch directory or document in use. Reads
 * are allowed above. */
static bool is_orbits(const struct pol_rule *r, enum sbx_op op)
{
	bool is_written =
		r->tier == POL_TIER_PROFILE || r->tier == POL_TIER_DENY || r->tier == POL_TIER_CLI;

	return is_written && !(op == SBX_READ && r->allow);
}

static int put_list(struct sbpl_emit *e, enum sbx_op op, const char *operation)
{
	const struct pol_list *list = &e->rs->op[op];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!is_orbits(r, op))
			continue;
		b_str_addf(&e->out, "(%s %s ", r->allow ? "allow" : "deny", operation);
		if (r->shape == POL_GLOB) {
			put_pattern(e, r);
		} else {
			b_str_add(&e->out, "(subpath ");
			sbpl_put_string(&e->out, r->base_len ? r->base : "/",
					r->base_len ? r->base_len : 1);
			b_str_addc(&e->out, ')');
		}
		b_str_add(&e->out, ")\n");
		if (sbpl_count_rules(e, 1, r->origin) < 0)
			return -1;
	}
	return 0;
}

int sbpl_put_orbit(struct sbpl_emit *e)
{
	b_str_add(&e->out, broad);
	if (sbpl_count_rules(e, BROAD_RULES, "the head") < 0 || put_home(e) < 0 ||
	    put_list(e, SBX_MODIFY, "file-write*") < 0)
		return -1;
	return put_list(e, SBX_READ, "file-read*");
}
