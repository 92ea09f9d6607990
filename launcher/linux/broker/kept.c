/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - names and objects that stay as they are: roots of grants, device nodes, terminals
 * of the host. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/str.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"

/*
 * The root of a grant, such as DIR of `--modify DIR`, keeps its place.
 *
 * A rule that covers all of a directory covers its name as well, so that the command may make it.
 * If the command could put a symlink there, programs outside, and the grant of the next run, would
 * be led to wherever the link says. The kernel alone would refuse it: a name is changed by writing
 * to its parent, which nobody has granted. Devices keep their names for the same reason
 * (kept.c), and so does a file outside that the caller gave as standard output.
 */

#define FRESH "\002" /* in no rule's name */

static bool allows_name(struct br_call *c, size_t parent, const char *before, const char *name,
			const char *after)
{
	char *end = c->text + parent;

	*end++ = '/';
	end = stpcpy(stpcpy(stpcpy(end, before), name), after);
	return br_allowed(c, SBX_MODIFY, c->text, (size_t)(end - c->text));
}

bool br_is_grant_root(struct br_call *c, const struct br_end *e)
{
	size_t parent = sbx_path_parent(e->path, e->len);
	const char *name;

	if (e->len + sizeof FRESH + 1 > sizeof c->text)
		return false;
	parent -= parent == 1; /* of "/name" */
	memcpy(c->text, e->path, parent);
	/* the usual case first; a pattern does not grant a root either */
	if (allows_name(c, parent, FRESH, "", ""))
		return false;
	name = e->path + parent + 1;
	return br_allowed(c, SBX_MODIFY, e->path, e->len) &&
	       !allows_name(c, parent, FRESH, name, "") && !allows_name(c, parent, "", name, FRESH);
}

/* A file outside that the run got as a standard stream: it was opened only for its content. */
bool br_is_stream(const struct br_call *c, const struct br_end *e)
{
	const struct lau_broker_plan *p = c->b->plan;

	for (size_t i = 0; i < p->streams.n; i++)
		if (strlen(p->streams.v[i]) == e->len && !memcmp(p->streams.v[i], e->path, e->len))
			return true;
	return false;
}

bool br_is_stood_in(const struct br_call *c, const struct br_end *e)
{
	const struct lau_broker_plan *p = c->b->plan;

	for (size_t i = 0; i < p->stands.n; i++)
		if (sbx_path_under(p->stands.v[i], strlen(p->stands.v[i]), e->path, e->len))
			return true;
	return false;
}

bool br_is_kept_name(const struct br_call *c, const struct br_end *e)
{
	return br_is_device_name(c, e) || br_is_stream(c, e);
}

struct br_answer br_deny_name(struct br_call *c, const struct br_end *e, unsigned why,
			      int kernel_says)
{
	const struct br_told t = {
		.op = SBX_MODIFY,
		.err = why & SBX_EVF_SETID ? EPERM : EACCES,
		.flags = SBX_EVF_MOVE | why,
		.aux = SBX_MODIFY,
		.path = e->path,
		.path2 = e->path,
		.len = e->len,
		.len2 = e->len,
	};

	if (kernel_says)
		return br_fail(kernel_says);
	br_tell(c, &t);
	return br_fail(t.err);
}

struct br_answer br_deny_root(struct br_call *c, const struct br_end *e, int kernel_says)
{
	return br_deny_name(c, e, SBX_EVF_ROOT, kernel_says);
}

/*
 * Device nodes, by what they are. The rules know devices by names in /dev; a node that
 * lies elsewhere is the same device, and a file system that is mounted twice has each name twice.
 *
 * The mounts of the run close nodes elsewhere already (namespaces.c). This is for runs without, and
 * for mounts that the host adds while a run lasts.
 */

static bool is_in_dev(const char *path, size_t len)
{
	return len > 5 && !memcmp(path, "/dev/", 5);
}

/* The rules name devices so that they can be written to. Root could also remove them, and everybody
 * on the host would miss them. */
bool br_is_device_name(const struct br_call *c, const struct br_end *e)
{
	struct stat st;

	if (is_in_dev(e->path, e->len))
		return e->len < 9 || memcmp(e->path, "/dev/shm/", 9) != 0;
	return c->b->dev_fs && e->at >= 0 && fstat(e->at, &st) == 0 && st.st_dev == c->b->dev_fs;
}

/* mem(4): null, zero, full, random, urandom; tty(4), pty(7). */
static bool is_harmless(dev_t dev)
{
	unsigned major = major(dev), minor = minor(dev);

	if (major == 1)
		return minor == 3 || minor == 5 || (minor >= 7 && minor <= 9);
	return (major == 5 && (minor == 0 || minor == 2)) || (major >= 136 && major <= 143);
}

bool br_is_stray_device(const struct br_call *c, const struct br_end *e, const struct stat *st)
{
	const struct lau_broker_plan *p = c->b->plan;

	if (!(S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode)) ||
	    (S_ISCHR(st->st_mode) && is_harmless(st->st_rdev)))
		return false;
	if (!e->is_pathless && is_in_dev(e->path, e->len))
		return false;
	for (size_t i = 0; i < p->devices.n; i++)
		if (!strcmp(p->devices.v[i], e->path))
			return false;
	return true;
}

void br_find_dev(struct br_broker *b)
{
	struct stat dev, root;

	if (stat("/dev", &dev) == 0 && stat("/", &root) == 0 && dev.st_dev != root.st_dev)
		b->dev_fs = dev.st_dev;
}

/*
 * Which terminals are the run's own. There is one /dev/pts for all of the host: a
 * rule that lets a program open the terminals it makes opens those of the caller too, and for root
 * those of everybody. To write to one is not to change it: with another mode or owner every account
 * could read what is typed there, also when the run is over.
 */

static const char dir[] = "/dev/pts/";

/* The number in the name of a terminal, or LAU_TERMINALS. */
static size_t number_of(const char *name)
{
	unsigned long long n;

	return b_parse_u64(name, LAU_TERMINALS - 1, &n) < 0 ? LAU_TERMINALS : (size_t)n;
}

/* The terminals that existed before the command. There is one broker in a process. */
static unsigned char outside[LAU_TERMINALS / 8];
static dev_t pts_dev; /* of their file system; others contain none of them */

void lau_terminals_find(unsigned char *out)
{
	DIR *list = opendir(dir);
	struct dirent *e;

	memset(out, list ? 0 : 0xff, LAU_TERMINALS / 8);
	while (list && (e = readdir(list))) {
		size_t n = number_of(e->d_name);

		if (n < LAU_TERMINALS)
			out[n / 8] |= (unsigned char)(1u << n % 8);
	}
	if (list)
		closedir(list);
}

size_t lau_given_find(struct lau_given *out)
{
	size_t n = 0, at;

	for (int fd = 0; fd < LAU_GIVEN_MAX; fd++) {
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(fd, &st) < 0 ||
		    !(S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && !st.st_nlink)))
			continue;
		for (at = 0; at < n; at++)
			if (out[at].dev == st.st_dev && out[at].ino == st.st_ino)
				break;
		if (at == n)
			out[n++] = (struct lau_given){.dev = st.st_dev, .ino = st.st_ino};
		out[at].reads |= (flags & O_ACCMODE) != O_WRONLY;
		out[at].writes |= (flags & O_ACCMODE) != O_RDONLY;
	}
	return n;
}

/* Terminals that appeared since the launcher listed them are not the command's either. */
void br_find_terminals(const struct lau_broker_plan *plan)
{
	struct stat st;

	pts_dev = stat(dir, &st) == 0 ? st.st_dev : 0;
	lau_terminals_find(outside);
	for (size_t i = 0; plan->terminals && i < sizeof outside; i++)
		outside[i] |= plan->terminals[i];
}

/* pty(7): the slaves. */
static bool is_slave(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) >= 136 && major(st->st_rdev) <= 143;
}

bool br_is_host_terminal(const struct br_call *c, const struct br_end *e)
{
	size_t n;

	/* whatever the name: devpts may be mounted twice, and a node made elsewhere */
	if (!is_slave(&e->st))
		return strncmp(e->path, dir, sizeof dir - 1) == 0; /* ptmx */
	n = (major(e->st.st_rdev) - 136) * 256u + minor(e->st.st_rdev);
	return e->st.st_dev != pts_dev || n >= LAU_TERMINALS || outside[n / 8] >> n % 8 & 1 ||
	       e->st.st_uid != c->b->uid;
}
