/*
 * nodes.c - device nodes, by what they are. The rules know devices by names in /dev; a node that
 * lies elsewhere is the same device, and a file system that is mounted twice has each name twice.
 *
 * The mounts of the run close nodes elsewhere already (isolate.c). This is for runs without, and
 * for mounts that the host adds while a run lasts.
 */
#include "launcher/linux/broker/broker.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
	for (size_t i = 0; i < p->ndevices; i++)
		if (!strcmp(p->devices[i], e->path))
			return false;
	return true;
}

void br_find_dev(struct br_broker *b)
{
	struct stat dev, root;

	if (stat("/dev", &dev) == 0 && stat("/", &root) == 0 && dev.st_dev != root.st_dev)
		b->dev_fs = dev.st_dev;
}
