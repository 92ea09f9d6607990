/* trust.c - see trust.h. */
#include "policy/trust.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/load.h"

enum { HASH_LEN = B_SHA256_HEX - 1, PATH_AT = HASH_LEN + 2 };

static void list_path(const char *config, struct b_str *out)
{
	b_str_addf(out, "%s/trusted", config);
}

void pol_trust_list(const char *config, struct b_str *out)
{
	b_auto(b_str_release) struct b_str path = {0};

	if (!config)
		return;
	list_path(config, &path);
	/* owner and mode as of a policy */
	if (pol_policy_read(b_str_c(&path), out, NULL) < 0)
		b_str_reset(out);
}

/* The next line of the list that is one of ours: *out_path ends where it ends. */
static const char *next_line(const char **text, size_t *out_len)
{
	while (**text) {
		const char *line = *text;
		size_t n = strcspn(line, "\n");

		*text += n + (line[n] == '\n');
		if (n > PATH_AT && line[HASH_LEN] == ' ' && line[PATH_AT] == '/') {
			*out_len = n;
			return line;
		}
	}
	return NULL;
}

static bool is_about(const char *line, size_t n, const char *path)
{
	return n - PATH_AT == strlen(path) && memcmp(line + PATH_AT, path, n - PATH_AT) == 0;
}

enum pol_trust pol_trust_of(const char *config, const char *path, const char hash[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str text = {0};
	enum pol_trust found = POL_UNTRUSTED;
	const char *at, *line;
	size_t n;

	pol_trust_list(config, &text);
	for (at = b_str_c(&text); (line = next_line(&at, &n));) {
		if (!is_about(line, n, path))
			continue;
		if (memcmp(line, hash, HASH_LEN) == 0)
			return POL_TRUSTED;
		found = POL_TRUST_CHANGED;
	}
	return found;
}

int pol_trust_set(const char *config, const char *path, const char *hash, struct b_err *err)
{
	b_auto(b_str_release) struct b_str old = {0}, new = {0}, file = {0};
	const char *at, *line;
	size_t n;

	if (!config)
		return b_fail(err, B_SYSTEM, 0,
			      "no home directory: XDG_CONFIG_HOME says where trust is kept");
	if (strchr(path, '\n'))
		return b_fail(err, B_USAGE, 0, "a path with a line break cannot be trusted");
	pol_trust_list(config, &old);
	for (at = b_str_c(&old); (line = next_line(&at, &n));)
		if (!is_about(line, n, path))
			b_str_addf(&new, "%.*s\n", (int)n, line);
	if (hash)
		b_str_addf(&new, "%s  %s\n", hash, path);
	list_path(config, &file);
	if (b_mkdirs(config, err) < 0)
		return -1;
	return b_write_file(b_str_c(&file), 0600, b_str_c(&new), new.len, true, err);
}
