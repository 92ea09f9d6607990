/* judge.c - see judge.h. */
#include "audit/judge.h"

#include "core/callnames.h"

/* Is the operation asked of both paths (rename and link)? */
static bool both_ends(const struct sbx_event *ev)
{
	static const bool table[SBX_CALL_COUNT] = {
		[SBX_CALL_rename] = true, [SBX_CALL_renameat] = true, [SBX_CALL_renameat2] = true,
		[SBX_CALL_link] = true,	  [SBX_CALL_linkat] = true,
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

void aud_judge(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
	       const char *path2, struct aud_verdict *out)
{
	bool claimed = ev->flags & SBX_EVF_ALLOWED;
	enum sbx_op op = (enum sbx_op)ev->op;
	struct sbx_verdict v;

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
	/* of a cut path only its beginning is known */
	out->disagrees = v.allowed != claimed && !(ev->flags & SBX_EVF_TRUNCATED);
}
