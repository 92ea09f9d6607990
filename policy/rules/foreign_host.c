/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_host.c - what a document of another system asks of this host: paths that are to be there,
 * a program that is to be trusted; and what of it nothing here enforces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/path.h"
#include "policy/document/layers.h"
#include "policy/rules/build.h"

/* As OpenShell names them. */
static const char *reason(int why)
{
	static const struct {
		int why;
		const char *text;
	} reasons[] = {{ENOENT, "path does not exist"},
		       {EACCES, "permission denied"},
		       {ELOOP, "too many symlink levels"},
		       {ENAMETOOLONG, "path name too long"},
		       {ENOTDIR, "path component is not a directory"}};

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].why == why)
			return reasons[i].text;
	return "cannot be opened";
}

static int check_listed(struct pol_build *b, const struct pol_foreign *f, struct b_err *err)
{
	size_t missing = 0;

	for (size_t i = 0; i < f->listed.n; i++) {
		const struct pol_text *t = &f->listed.v[i];
		struct stat st;
		int why;

		if (stat(t->s, &st) == 0)
			continue;
		why = errno;
		missing++;
		if (f->must_exist)
			return b_fail(err, B_FLOOR, why,
				      "%s:%u:%u: Landlock path unavailable in hard_requirement "
				      "mode: %s (%s): %s",
				      t->pos.file, t->pos.line, t->pos.col, t->s, reason(why),
				      strerror(why));
		pol_build_notice(b, "%s:%u:%u: %s is left out (%s): %s", t->pos.file, t->pos.line,
				 t->pos.col, t->s, reason(why), strerror(why));
	}
	if (missing == f->listed.n && missing > 0)
		pol_build_loss(
			b, "%s: no listed path exists: nothing outside the workspace may be read",
			f->listed.v[0].pos.file);
	return 0;
}

/* Root's, and so is every directory on the way; nobody else may put another in its place. */
static const char *distrust(const char *path)
{
	b_auto_free char *real = path[0] == '/' ? realpath(path, NULL) : NULL;
	struct stat st;

	if (path[0] != '/')
		return "not an absolute path";
	if (!real)
		return strerror(errno);
	if (stat(real, &st) < 0 || !S_ISREG(st.st_mode) || access(real, X_OK) < 0)
		return "no program";
	for (char *end = real + strlen(real); end > real; end = strrchr(real, '/')) {
		*end = '\0';
		if (stat(*real ? real : "/", &st) < 0 || st.st_uid != 0 ||
		    st.st_mode & (S_IWGRP | S_IWOTH))
			return "users other than root can change it";
	}
	return NULL;
}

int pol_build_foreign(struct pol_build *b, struct b_err *err)
{
	const struct pol_foreign *f = &b->layers->main.foreign;
	const char *why = f->must_have_bwrap ? distrust(f->bwrap.s) : NULL;
	bool is_net_lost = !b->rq->with_endpoints || b->layers->effect.network == POL_NET_HOST;

	for (size_t i = 0; i < f->notes.n; i++)
		pol_build_notice(b, "%s", f->notes.v[i].s);
	for (size_t i = 0; i < f->losses.n; i++)
		pol_build_loss(b, "%s", f->losses.v[i].s);
	for (size_t i = 0; is_net_lost && i < f->net_losses.n; i++)
		pol_build_loss(b, "%s", f->net_losses.v[i].s);
	for (size_t i = 0; b->layers->effect.network == POL_NET_HOST && i < f->host_losses.n; i++)
		pol_build_loss(b, "%s", f->host_losses.v[i].s);
	if (why)
		pol_build_loss(b, "%s:%u:%u: sandbox backend 'bwrap' not available at %s: %s",
			       f->bwrap.pos.file, f->bwrap.pos.line, f->bwrap.pos.col,
			       *f->bwrap.s ? f->bwrap.s : "an empty path", why);
	return check_listed(b, f, err);
}

/* Does a rule open all of it, or with `below` something in it, for changing? */
static bool is_open(const struct pol_build *b, const char *dir, bool below)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		if (r->tier != POL_TIER_PROFILE || !r->allow)
			continue;
		if (r->base_len == 0 || sbx_path_under(dir, strlen(dir), r->base, r->base_len) ||
		    (below && sbx_path_under(r->base, r->base_len, dir, strlen(dir))))
			return true;
	}
	return false;
}

/* Under srt and caliban the command has a /proc of its own, of which these cannot be written to,
 * and a /dev of its own; under OpenShell it is never root. Here they are the host's, and root could
 * do with them what no sandbox outlives: a core_pattern is a command that the kernel runs. An entry
 * that names one of them opens it, and a line says so. The memory of others (/proc/PID/mem) the
 * kernel keeps from who is in a Landlock domain. */
void pol_build_foreign_closed(struct pol_build *b)
{
	static const char *const rows[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
					   "/proc/bus", "/proc/acpi",	       "/sys"};
	enum { N = sizeof rows / sizeof *rows };
	bool has_dev = b->layers->main.foreign.dialect != POL_DIALECT_openshell;
	struct b_arena *a = &b->rs->arena;

	for (size_t i = 0; i < N && (is_open(b, "/proc", true) || is_open(b, "/sys", true)); i++) {
		const struct pol_rule r = {.shape = POL_TREE,
					   .tier = POL_TIER_SET,
					   .base = rows[i],
					   .matched = pol_build_join(b, rows[i], "**"),
					   .origin =
						   b_arena_printf(a, "builtin:system:%zu", i + 1)};

		/* nobody makes a file there, and mounts cover only what there is */
		if (access(rows[i], F_OK) == 0)
			pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_NONE);
	}
	if (has_dev && is_open(b, "/dev", false))
		pol_build_own_dev(b, b_arena_printf(a, "builtin:system:%d", N + 1));
}
