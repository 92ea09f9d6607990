/* foreign.c - what a document of another system asks of this host: paths that are to be there, a
 * program that is to be trusted; and what of it nothing here enforces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/build.h"
#include "policy/layers.h"

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
		pol_build_loss(b,
			       "%s: no listed path is there: nothing outside the workspace may "
			       "be read",
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
			return "not root's alone to change";
	}
	return NULL;
}

int pol_build_foreign(struct pol_build *b, struct b_err *err)
{
	const struct pol_foreign *f = &b->layers->main.foreign;
	const char *why = f->must_have_bwrap ? distrust(f->bwrap.s) : NULL;

	for (size_t i = 0; i < f->notes.n; i++)
		pol_build_notice(b, "%s", f->notes.v[i].s);
	for (size_t i = 0; i < f->losses.n; i++)
		pol_build_loss(b, "%s", f->losses.v[i].s);
	if (why)
		pol_build_loss(b, "%s:%u:%u: sandbox backend 'bwrap' not available at %s: %s",
			       f->bwrap.pos.file, f->bwrap.pos.line, f->bwrap.pos.col, f->bwrap.s,
			       why);
	return check_listed(b, f, err);
}
