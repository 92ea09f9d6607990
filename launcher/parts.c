/* parts.c - see parts.h. */
#include "launcher/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/mem.h"
#include "launcher/dirs.h"
#include "launcher/execclass.h"
#include "launcher/options.h"
#include "launcher/outcome.h"
#include "launcher/record.h"
#include "launcher/require.h"
#include "launcher/shimpath.h"
#include "launcher/stdio.h"

void lau_parts_request(const struct lau_options *o, struct lau_dirs *dirs, struct lau_request *out)
{
	struct pol_request *rq = &out->rq;

	lau_policy_request(&o->policy, rq);
	rq->layers = &dirs->layers;
	rq->workspace_texts = o->policy.workspaces.n ? o->policy.workspaces.v : NULL;
	rq->is_default_workspace = o->policy.workspaces.n == 0;
	rq->workspaces = dirs->workspaces;
	rq->nworkspaces = dirs->nworkspaces;
	rq->scratch = dirs->scratch.path;
	rq->cache = dirs->cache;
	rq->hidden = dirs->hidden;
	rq->nhidden = dirs->nhidden;
	rq->outer = dirs->outer;
	rq->stdio = out->stdio;
	rq->nstdio = lau_stdio_find(dirs, out->stdio);
	if (o->result_json) /* only the first may be ours */
		while (rq->nstdio > 0 && (o->stdin_from || out->stdio[rq->nstdio - 1].fd > 0))
			rq->nstdio--;
	rq->image_cache = dirs->images;
}

int lau_parts_chdir(const struct lau_options *o, struct b_err *err)
{
	if (!o->chdir || chdir(o->chdir) == 0)
		return 0;
	return b_fail(err, B_WORKSPACE, errno, "--chdir: %s: `%s`: %s",
		      errno == ENOTDIR ? "cwd-not-a-directory" : "cwd-resolve-failed", o->chdir,
		      strerror(errno));
}

int lau_parts_status_fd(const struct lau_options *o, int *out_fd, struct b_err *err)
{
	*out_fd = -1;
	if (o->status_fd < 0)
		return 0;
	*out_fd = fcntl(o->status_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*out_fd < 0 ||
	    (o->status_fd > STDERR_FILENO && fcntl(o->status_fd, F_SETFD, FD_CLOEXEC) < 0))
		return b_fail(err, B_SYSTEM, errno, "--status-fd: %s", strerror(errno));
	return 0;
}

int lau_parts_may_exec(struct pol_engine *engine, const char *file, struct b_err *err)
{
	b_auto_free char *real = realpath(file, NULL);
	struct pol_answer answer;

	if (!real)
		return b_fail(err, B_NOEXEC, errno, "`%s`: %s", file, strerror(errno));
	if (pol_engine_check(engine, SBX_EXEC, real, &answer, err) < 0)
		return -1;
	if (!answer.allowed)
		return b_fail(err, B_NOEXEC, 0, "`%s`: refused by the policy: rule `%s` (%s)", file,
			      answer.matched, answer.origin);
	return 0;
}

bool lau_parts_requires_shim(const struct lau_options *o)
{
	return o->require >> LAU_NEED_SHIM & 1;
}

int lau_parts_shim(const struct lau_options *o, const char *program, char **out, struct b_err *err)
{
	enum sbx_exec_class cls =
		lau_parts_requires_shim(o) ? lau_exec_class(program) : SBX_EXEC_DYNAMIC;

	*out = NULL;
	if (cls != SBX_EXEC_DYNAMIC && cls != SBX_EXEC_UNREADABLE)
		return b_fail(err, B_NOEXEC, 0, "`%s`: required: shim: it would not be loaded (%s)",
			      program, sbx_exec_class_name(cls));
	return o->no_shim ? 0 : lau_shim_find(out, err);
}

/* A log with holes is an error where it was to have none. */
static int check_witnessed(const struct lau_options *o, const struct lau_record *r,
			   struct b_err *err)
{
	struct aud_counts counts;

	if (!lau_parts_requires_shim(o) || !r->collector)
		return 0;
	aud_collector_counts(r->collector, &counts);
	return lau_require_witnessed(&counts, err);
}

int lau_parts_end(const struct lau_options *o, struct lau_record *r, struct lau_outcome *outcome,
		  struct b_err *err)
{
	int rc = lau_record_finish(r, outcome, err);

	if (rc < 0 && !o->audit_required) {
		(void)b_report("sbx-launch", err);
		rc = 0;
	}
	if (rc == 0)
		rc = check_witnessed(o, r, err);
	if (rc < 0)
		outcome->phase = LAU_PHASE_ABORTED;
	return rc;
}
