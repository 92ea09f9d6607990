/* SPDX-License-Identifier: Apache-2.0 */
/* plan_tmp.c - whether the run has a /tmp of its own, and what of the host's stays in it. */
#include "launcher/plan/plan.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/linux/process/process.h"
#include "launcher/plan/program.h"
#include "launcher/options/options.h"
#include "launcher/report/host.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "policy/document/request.h"
#include "policy/engine.h"
#include "policy/rules/fsview.h"
#include "policy/rules/workspace.h"

static const char *note_cwd(struct lau_plan *p)
{
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof cwd) || !pol_is_in_tmp(cwd))
		return NULL;
	return b_arena_strndup(&p->arena, cwd, strlen(cwd));
}

/* Where this program lies, if in /tmp: a run inside a run starts it, and its shim is loaded. */
static const char *note_self(struct lau_plan *p)
{
	char self[PATH_MAX];

	if (!lau_os_own_path(self, sizeof self) || !pol_is_in_tmp(self))
		return NULL;
	return b_arena_strndup(&p->arena, self, (size_t)(strrchr(self, '/') - self));
}

static const char *note_shim(struct lau_plan *p)
{
	b_auto_free char *shim = NULL;

	if (lau_shim_find(&shim, &(struct b_err){0}) < 0 || !pol_is_in_tmp(shim))
		return NULL;
	return b_arena_strndup(&p->arena, shim, strlen(shim));
}

static void note_kept(struct lau_plan *p, struct pol_request *rq)
{
	const char **v = b_arena_alloc(&p->arena, (4 + rq->nstdio) * sizeof *v);
	size_t n = 0;

	v[n++] = note_cwd(p);
	v[n++] = note_self(p);
	v[n++] = note_shim(p);
	v[n++] = pol_home(&p->arena);
	for (size_t i = 0; i < rq->nstdio; i++)
		v[n++] = rq->stdio[i].path;
	rq->tmp_keep = v;
	rq->ntmp_keep = n;
}

static const char *why_none(const struct lau_host *host, const struct lau_plan *p,
			    const struct pol_request *rq)
{
	struct stat st;

	for (size_t i = 0; i < rq->nworkspaces; i++)
		if (strcmp(rq->workspaces[i], POL_OWN_TMP) == 0)
			return "the workspace is " POL_OWN_TMP
			       ", and what is made in it would go with the run: leave out "
			       "--isolate tmp, or --workspace another directory";
	if (p->is_wrapped)
		return "--backend bwrap binds what rules open, and has no other /tmp: --backend "
		       "landlock";
	if (lstat(POL_OWN_TMP, &st) < 0 || !S_ISDIR(st.st_mode))
		return POL_OWN_TMP " is no directory here: leave out --isolate tmp";
	if (!host->has_broker)
		return "the broker closes what stays of the host's " POL_OWN_TMP
		       " in it (Linux 5.19): leave out --isolate tmp";
	return NULL;
}

const char *lau_plan_tmp(const struct lau_options *o, const struct lau_host *host,
			 struct lau_plan *p, struct pol_request *rq)
{
	const char *why;

	if (!(p->isolate & LAU_ISOLATE_TMP))
		return NULL;
	why = why_none(host, p, rq);
	if (!why) {
		rq->with_tmp = true;
		note_kept(p, rq);
		return NULL;
	}
	p->isolate &= ~LAU_ISOLATE_TMP;
	p->isolate_must &= ~LAU_ISOLATE_TMP;
	/* The document's: by bubblewrap the host's /tmp is not there, and nor is another. */
	if (!(o->require >> LAU_NEED_TMP & 1))
		lau_plan_add(p, !p->is_wrapped,
			     b_arena_printf(&p->arena, "a " POL_OWN_TMP " of its own: %s", why));
	return why;
}

int lau_plan_tmp_kept(struct lau_plan *p, struct b_err *err)
{
	const struct pol_ruleset *rules = &p->engine->rules;

	if (!rules->own_tmp)
		return 0;
	/* one for the channel */
	if (rules->ntmp_kept + 1 > LAU_TMP_KEEP_MAX)
		return b_fail(err, B_FLOOR, 0,
			      "--isolate tmp: %zu paths of the host's " POL_OWN_TMP
			      " are to stay in it, and it takes %d: name directories above them",
			      rules->ntmp_kept, LAU_TMP_KEEP_MAX - 1);
	p->tmp_cwd = note_cwd(p);
	return 0;
}

bool lau_is_in_tmp(const char *path)
{
	return pol_is_in_tmp(path);
}

void lau_plan_own_dirs(const struct lau_plan *p, struct lau_own_dirs *out)
{
	*out = (struct lau_own_dirs){.shm = p->isolate & LAU_ISOLATE_SHM,
				     .tmp = p->engine->rules.own_tmp,
				     .shm_keep = p->shm_keep,
				     .tmp_keep = p->tmp_keep,
				     .ntmp_keep = p->ntmp_keep};
}
