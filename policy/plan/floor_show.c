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

/* Which floor has the limit. */
enum { BARE = 1, BROKER = 2, BOTH = 3 };

static const struct {
	unsigned where;
	const char *text;
} limits[] = {
	{BARE, "metadata calls (chmod, chown, utime, xattrs) are not seen by Landlock: outside the "
	       "writable directories only the file owner's rights and the shim stop them"},
	{BARE, "names, never content, beneath carved directories can be listed"},
	{BARE, "entries made after the start directly in a carved directory cannot be opened"},
	{BROKER, "programs without the shim list carved directories only by O_DIRECTORY, and open "
		 "what was made later directly in one only by openat2(2)"},
	{BARE, "the protected set inside the workspace is left to the shim: strict refuses"},
	{BARE, "openat2(2) can create a set-id file in a writable directory: its mode is hidden in "
	       "memory"},
	{BARE, "programs that the shim does not witness are held by the kernel, but not logged"},
	{BROKER, "reads that the kernel refuses to programs without the shim are not logged"},
	{BARE, "connect(2) to a socket path inside writable directories needs --unix host"},
	{BROKER, "servers on a Unix socket see the broker's process number as their peer's"},
	{BROKER,
	 "programs cannot put a Landlock domain on themselves: they are told there is none"},
	{BROKER, "a directory that moves to where other rules hold is looked through: with more "
		 "than 50,000 names in it, or one that cannot be read, it stays"},
	{BROKER,
	 "programs that their user may execute but not read (mode 0111) cannot change files"},
	{BROKER,
	 "where a pattern denies reading, a second thread can put a denied file in the place "
	 "of a program between the check of execve(2) and its start: it runs if it was "
	 "executable before the run, and what is preloaded into it can read its content"},
	{BROKER, "of the calls that wait (FIFOs under a pattern that denies reading, connections) "
		 "192 wait at once: one more fails"},
	{BROKER,
	 "with rules on endpoints (--connect) a connection that does not wait for its other "
	 "end (O_NONBLOCK) is reset where that cannot be had, and getpeername(2) tells an "
	 "address of the relay"},
	{BOTH, "inotify and readlink tell names and changes of denied directories that file "
	       "permissions let be read"},
	{BOTH,
	 "--network none on top of user namespaces shows other users' files as owned by nobody"},
	{BOTH, "with --network host System V IPC is the host's; with --network none, where no "
	       "namespace can "
	       "be had, it is refused"},
	{BOTH, "where no pid namespace can be had (--isolate), the process list is the host's"},
	{BOTH, "where no /dev/shm of its own can be had (--isolate), it is closed: POSIX shared "
	       "memory and "
	       "semaphores fail"},
	{BOTH,
	 "other terminals of the same user can be opened (/dev/pts), not typed into: --deny-read "
	 "/dev/pts --deny-modify /dev/pts closes them, and new pseudo-terminals with them"},
};

const char *pol_floor_limit(bool with_broker, size_t i)
{
	for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
		if (limits[k].where & (with_broker ? BROKER : BARE) && i-- == 0)
			return limits[k].text;
	return NULL;
}

static void show_rights(unsigned rights, struct b_str *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{POL_GRANT_READ, "read"},    {POL_GRANT_LIST, "list"}, {POL_GRANT_EXEC, "exec"},
		{POL_GRANT_WRITE, "modify"}, {POL_GRANT_DEV, "ioctl"}, {POL_GRANT_RING, "ring"},
		{POL_GRANT_PUT, "put"},
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
	for (size_t i = 0; pol_floor_limit(f->uses_broker, i); i++)
		b_str_addf(out, "  %s\n", pol_floor_limit(f->uses_broker, i));
}
