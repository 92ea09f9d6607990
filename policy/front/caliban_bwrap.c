/* caliban_bwrap.c - see caliban_bwrap.h. */
#include "policy/front/caliban_bwrap.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/back/floor.h"
#include "policy/front/dialect.h"
#include "policy/front/toml.h"
#include "policy/front/yaml.h"

static void put(struct b_str *out, const char *word)
{
	b_str_addn(out, word, strlen(word) + 1);
}

static void put_words(struct b_str *out, const char *const *words)
{
	for (; *words; words++)
		put(out, *words);
}

static void put_bind(struct b_str *out, const char *how, const char *from, const char *to)
{
	put(out, how);
	put(out, from);
	put(out, to);
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
			put(out, "--tmpfs");
			put(out, path);
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
		put(out, "--unshare-net");
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
