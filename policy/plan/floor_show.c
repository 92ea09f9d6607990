/* SPDX-License-Identifier: Apache-2.0 */
/* floor_show.c - the floor plan as text, and the small calls around it. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/plan/floor.h"

void pol_floor_release(struct pol_floor *f)
{
	free(f->grants);
	free(f->gaps);
	free(f->carved);
	free(f->held);
	free(f->brokered);
	b_arena_release(&f->arena);
	*f = (struct pol_floor){0};
}

void pol_floor_grant(struct pol_floor *f, const char *path, unsigned rights, bool is_dir)
{
	b_grow(f->grants, f->ngrants, f->grants_cap);
	f->grants[f->ngrants++] = (struct pol_grant){
		.path = b_arena_strndup(&f->arena, path, strlen(path)),
		.rights = rights,
		.is_dir = is_dir,
	};
}

void pol_floor_accept_gaps(struct pol_floor *f)
{
	f->gaps_accepted = true;
}

bool pol_floor_has_fatal(const struct pol_floor *f)
{
	for (size_t i = 0; i < f->ngaps; i++)
		if (f->gaps[i].fatal)
			return true;
	return false;
}

static void show_rights(unsigned rights, struct b_str *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{POL_GRANT_READ, "read"},    {POL_GRANT_LIST, "list"},	  {POL_GRANT_EXEC, "exec"},
		{POL_GRANT_WRITE, "modify"}, {POL_GRANT_DEV, "ioctl"},	  {POL_GRANT_RING, "ring"},
		{POL_GRANT_PUT, "put"},	     {POL_GRANT_CLEAN, "marked"},
	};
	const char *sep = "";

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		/* Who reads lists. */
		if (!(rights & names[i].bit) ||
		    (names[i].bit == POL_GRANT_LIST && (rights & POL_GRANT_READ)))
			continue;
		b_str_addf(out, "%s%s", sep, names[i].name);
		sep = ",";
	}
}

static void show_path(const char *path, bool is_dir, struct b_str *out)
{
	b_str_add_visible(out, path, strlen(path));
	if (is_dir && path[1])
		b_str_addc(out, '/');
}

static void show_gap(const struct pol_gap *gap, struct b_str *out)
{
	b_str_addf(out, "%s %s ", gap->fatal ? "refused" : "limit  ", sbx_op_name(gap->op));
	b_str_add_visible(out, gap->rule, strlen(gap->rule));
	if (*gap->origin) {
		b_str_add(out, " (");
		b_str_add_visible(out, gap->origin, strlen(gap->origin));
		b_str_addc(out, ')');
	}
	b_str_addf(out, ": %s; %s\n", gap->why, gap->remedy);
}

static void show_broker(const struct pol_floor *f, struct b_str *out)
{
	static const char *const levels[] = {
		[POL_READ_NONE] = "none: the kernel decides",
		[POL_READ_DIRECTORY] = "of directories",
		[POL_READ_ALL] = "all",
	};

	if (!f->uses_broker)
		return;
	b_str_addf(out, "performed by the broker: calls that modify%s; opens to read: %s\n",
		   f->traps & POL_TRAP_EXEC ? ", execve" : "", levels[f->read_level]);
	for (size_t i = 0; i < f->nbrokered; i++) {
		b_str_add(out, "  ");
		show_rights(f->brokered[i].rights, out);
		b_str_addc(out, ' ');
		show_path(f->brokered[i].path, f->brokered[i].is_dir, out);
		b_str_addc(out, '\n');
	}
}

void pol_floor_show(const struct pol_floor *f, struct b_str *out)
{
	const char *name, *text;

	b_str_add(out, "granted by the kernel (landlock)\n");
	for (size_t i = 0; i < f->ngrants; i++) {
		const struct pol_grant *g = &f->grants[i];

		if (g->lax && !f->gaps_accepted)
			continue;
		b_str_add(out, "  ");
		show_rights(g->rights, out);
		b_str_addc(out, ' ');
		show_path(g->path, g->is_dir, out);
		b_str_add(out, g->lax ? "  # wider than the rules\n" : "\n");
	}
	show_broker(f, out);
	b_str_add(out, "carved: entries granted one by one\n");
	for (size_t i = 0; i < f->ncarved; i++) {
		b_str_add(out, "  ");
		show_path(f->carved[i], true, out);
		b_str_addc(out, '\n');
	}
	if (f->nheld)
		b_str_add(out,
			  "left to file permissions: denied, and closed to you by their owner\n");
	for (size_t i = 0; i < f->nheld; i++) {
		b_str_add(out, "  ");
		show_path(f->held[i], false, out);
		b_str_addc(out, '\n');
	}
	b_str_add(out, "gaps\n");
	for (size_t i = 0; i < f->ngaps; i++) {
		b_str_add(out, "  ");
		show_gap(&f->gaps[i], out);
	}
	b_str_add(out, "limits of this floor\n");
	for (size_t i = 0; pol_limit(f->uses_broker, i, &name, &text); i++)
		b_str_addf(out, "  %s: %s\n", name, text);
}
