/* judge.c - see judge.h. */
#include "audit/judge.h"

#include "core/callnames.h"
#include "core/path.h"

/* Is the operation asked of both paths (rename and link)? */
static bool both_ends(const struct sbx_event *ev)
{
	static const bool table[SBX_CALL_COUNT] = {
		[SBX_CALL_rename] = true, [SBX_CALL_renameat] = true, [SBX_CALL_renameat2] = true,
		[SBX_CALL_link] = true,	  [SBX_CALL_linkat] = true,
		[SBX_CALL_clonefile] = true, [SBX_CALL_exchangedata] = true,
	};

	return ev->path2_len && table[ev->call];
}

/* A move refused because it would launder: names the end that is denied for the operation that
 * objects. Its verdict depends on the kind of the object at that time, which no one can ask now:
 * the claim stands. */
static void judge_move(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
		       const char *path2, struct aud_verdict *out)
{
	enum sbx_op op = ev->aux < SBX_OP_COUNT ? (enum sbx_op)ev->aux : SBX_MODIFY;
	struct sbx_verdict from, to;

	sbx_explain(img, op, path, ev->path_len, &from);
	sbx_explain(img, op, path2, ev->path2_len, &to);
	out->second = from.allowed && !to.allowed;
	out->matched = out->second ? to.matched : from.matched;
	out->origin = out->second ? to.origin : from.origin;
	out->allowed = false;
	out->disagrees = false;
}

static bool is_cut(const struct sbx_event *ev)
{
	return ev->flags & SBX_EVF_TRUNCATED &&
	       (ev->path_len == SBX_PATH_MAX - 1 || ev->path2_len == SBX_PATH_MAX - 1);
}

/* Of a path that is cut only its writer could tell. A rule that is none is a liar's. */
static void judge_cut(const struct sbx_image *img, const struct sbx_event *ev,
		      struct aud_verdict *out)
{
	enum sbx_op op = (enum sbx_op)ev->op;
	struct sbx_verdict v;

	sbx_explain_rule(img, op, ev->rule <= img->hdr->nrules ? (int)ev->rule - 1 : -1, &v);
	*out = (struct aud_verdict){
		.allowed = ev->flags & SBX_EVF_ALLOWED,
		.second = ev->flags & SBX_EVF_PATH2_DENIED,
		.matched = v.matched,
		.origin = v.origin,
	};
}

void aud_judge(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
	       const char *path2, struct aud_verdict *out)
{
	bool claimed = ev->flags & SBX_EVF_ALLOWED;
	enum sbx_op op = (enum sbx_op)ev->op;
	struct sbx_verdict v;

	if (is_cut(ev)) {
		judge_cut(img, ev, out);
		return;
	}
	if (ev->flags & SBX_EVF_MOVE && !claimed) {
		judge_move(img, ev, path, path2, out);
		return;
	}
	*out = (struct aud_verdict){0};
	sbx_explain(img, op, path, ev->path_len, &v);
	if (v.allowed && both_ends(ev) && !sbx_decide(img, op, path2, ev->path2_len)) {
		out->second = true;
		sbx_explain(img, op, path2, ev->path2_len, &v);
	}
	out->allowed = v.allowed;
	out->matched = v.matched;
	out->origin = v.origin;
	out->disagrees = v.allowed != claimed;
}
