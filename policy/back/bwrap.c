/* bwrap.c - see bwrap.h. */
#include "policy/back/bwrap.h"

#include <string.h>

#include "base/str.h"
#include "policy/back/mounts.h"

static void put(struct b_str *out, const char *word)
{
	b_str_addn(out, word, strlen(word) + 1);
}

static void put2(struct b_str *out, const char *word, const char *path)
{
	put(out, word);
	put(out, path);
}

static void put3(struct b_str *out, const char *word, const char *from, const char *to)
{
	put2(out, word, from);
	put(out, to);
}

/* What is granted and has gone is not there; a cover that cannot be made is an error. */
static void put_mount(const struct pol_mount *m, struct b_str *out)
{
	switch (m->kind) {
	case POL_MOUNT_RO:
		put3(out, m->is_cover ? "--ro-bind" : "--ro-bind-try", m->path, m->path);
		return;
	case POL_MOUNT_RW:
		put3(out, m->is_cover ? "--bind" : "--bind-try", m->path, m->path);
		return;
	case POL_MOUNT_PIN:
		put3(out, "--bind", m->path, m->path);
		return;
	case POL_MOUNT_DEVICE:
		put3(out, "--dev-bind-try", m->path, m->path);
		return;
	case POL_MOUNT_LINK:
		put3(out, "--symlink", m->target, m->path);
		return;
	case POL_MOUNT_HIDE_DIR:
		put2(out, "--tmpfs", m->path);
		return;
	case POL_MOUNT_HIDE_FILE:
		put3(out, "--ro-bind", "/dev/null", m->path);
		return;
	}
}

static void put_namespaces(const struct pol_bwrap *o, struct b_str *out)
{
	put(out, "--die-with-parent");
	if (o->user)
		put(out, "--unshare-user");
	if (o->pid)
		put(out, "--unshare-pid");
	put(out, "--unshare-ipc");
	put(out, "--unshare-uts");
	if (o->cgroup)
		put(out, "--unshare-cgroup-try");
	if (!o->network)
		put(out, "--unshare-net");
}

static void put_caps(uint64_t keep, struct b_str *out)
{
	static const char *const names[] = {
		"CAP_CHOWN",	       "CAP_DAC_OVERRIDE",    "CAP_DAC_READ_SEARCH",
		"CAP_FOWNER",	       "CAP_FSETID",	      "CAP_KILL",
		"CAP_SETGID",	       "CAP_SETUID",	      "CAP_SETPCAP",
		"CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE"};

	put2(out, "--cap-drop", "ALL");
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (keep >> i & 1)
			put2(out, "--cap-add", names[i]);
}

void pol_bwrap_arguments(const struct pol_mounts *m, const struct pol_bwrap *o, struct b_str *out)
{
	size_t i = 0;

	put_namespaces(o, out);
	put_caps(o->keep_caps, out);
	if (m->n > 0 && strcmp(m->v[0].path, "/") == 0)
		put_mount(&m->v[i++], out);
	put2(out, "--dev", "/dev");
	if (o->pid)
		put2(out, "--proc", "/proc");
	else
		put3(out, "--ro-bind", "/proc", "/proc");
	for (; i < m->n; i++)
		put_mount(&m->v[i], out);
	/* last: what is opened again below one was mounted into it */
	for (i = 0; i < m->n; i++)
		if (m->v[i].kind == POL_MOUNT_HIDE_DIR)
			put2(out, "--remount-ro", m->v[i].path);
	put2(out, "--chdir", o->cwd);
}

void pol_bwrap_show(const struct b_str *args, struct b_str *out)
{
	for (const char *at = args->s; at < args->s + args->len; at += strlen(at) + 1) {
		if (at > args->s)
			b_str_addc(out, strncmp(at, "--", 2) == 0 ? '\n' : ' ');
		b_str_add_visible(out, at, strlen(at));
	}
	b_str_addc(out, '\n');
}
