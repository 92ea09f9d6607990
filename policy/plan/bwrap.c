/* SPDX-License-Identifier: Apache-2.0 */
/* bwrap.c - mounts as arguments of bubblewrap, in our order and in caliban's. */
#include "policy/plan/mounts.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/front/tree.h"
#include "policy/plan/floor.h"

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

/* ---- caliban's order ---- */

static void caliban_bwrap_put(struct b_str *out, const char *word)
{
	b_str_addn(out, word, strlen(word) + 1);
}

static void put_words(struct b_str *out, const char *const *words)
{
	for (; *words; words++)
		caliban_bwrap_put(out, *words);
}

static void put_bind(struct b_str *out, const char *how, const char *from, const char *to)
{
	caliban_bwrap_put(out, how);
	caliban_bwrap_put(out, from);
	caliban_bwrap_put(out, to);
}

static bool is_on(const struct pol_ynode *table, const char *key)
{
	const struct pol_ynode *v = pol_yaml_get(table, key);

	return v && strcmp(v->s, "true") == 0;
}

static bool has_port(const struct pol_ynode *net, const char *key)
{
	const struct pol_ynode *v = pol_yaml_get(net, key);

	return v && strcmp(v->s, "0") != 0;
}

static void put_each(const struct pol_ynode *table, const char *key, const char *how,
		     struct b_str *out)
{
	const struct pol_ynode *list = pol_yaml_get(table, key);

	for (size_t i = 0; list && i < list->n; i++)
		put_bind(out, how, list->v[i]->s, list->v[i]->s);
}

/* An empty directory, or an empty file, in its place. */
static void put_hidden(const struct pol_ynode *table, const struct pol_fsview *fs,
		       struct b_str *out)
{
	const struct pol_ynode *list = pol_yaml_get(table, "deny_read");

	for (size_t i = 0; list && i < list->n; i++) {
		const char *path = list->v[i]->s;

		if (fs->type(fs->ctx, path) == 'd') {
			caliban_bwrap_put(out, "--tmpfs");
			caliban_bwrap_put(out, path);
		} else {
			put_bind(out, "--ro-bind-try", "/dev/null", path);
		}
	}
}

static void put_all(const struct pol_ynode *sandbox, const struct pol_fsview *fs, struct b_str *out)
{
	static const char *const system_dirs[] = {"/usr", "/etc", "/bin", "/lib", "/lib64", "/opt"};
	static const char *const own[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
					  "--unshare-cgroup-try", NULL};
	static const char *const nested[] = {"--unshare-pid", "--unshare-ipc", NULL};
	const struct pol_ynode *files = pol_yaml_get(sandbox, "filesystem");
	const struct pol_ynode *net = pol_yaml_get(sandbox, "network");

	put_words(out, (const char *const[]){"--die-with-parent", "--new-session", NULL});
	put_words(out, is_on(sandbox, "enable_weaker_nested_sandbox") ? nested : own);
	put_words(out, (const char *const[]){"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
					     NULL});
	for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
		if (fs->type(fs->ctx, system_dirs[i]))
			put_bind(out, "--ro-bind-try", system_dirs[i], system_dirs[i]);
	put_each(files, "allow_read", "--ro-bind-try", out);
	put_each(files, "allow_write", "--bind-try", out);
	put_hidden(files, fs, out);
	put_each(files, "deny_write", "--ro-bind-try", out);
	if (!is_on(net, "allow_all_outbound") || has_port(net, "http_proxy_port") ||
	    has_port(net, "socks_proxy_port"))
		caliban_bwrap_put(out, "--unshare-net");
}

int pol_caliban_bwrap(const char *name, const char *text, size_t len, const struct pol_fsview *fs,
		      struct b_str *out, struct b_err *err)
{
	const struct pol_input in = {
		.name = name, .text = text, .len = len, .dialect = POL_DIALECT_caliban};
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	struct pol_ynode *root;

	if (pol_front_parse(&in, &doc, err) < 0 ||
	    pol_toml_parse(&doc.arena, name, text, len, &root, err) < 0)
		return -1;
	put_all(pol_yaml_get(root, "sandbox"), fs, out);
	return 0;
}
