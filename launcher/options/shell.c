/* SPDX-License-Identifier: Apache-2.0 */
/* shell.c - see shell.h. */
#include "launcher/options/shell.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static char sh[] = LAU_SHELL, dash_c[] = "-c", dash_l[] = "-l", dashes[] = "--";

bool lau_shell_is_asked(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;
	const char *name = slash ? slash + 1 : argv0;

	return name && strcmp(name + (*name == '-'), "sbx-shell") == 0;
}

static bool is_ours(const char *word)
{
	return word && strncmp(word, "--", 2) == 0 && word[2];
}

char **lau_shell_words(int *argc, char **argv, bool *out_is_bare)
{
	bool is_login = *argv[0] == '-';
	char **out = b_calloc((size_t)*argc + 4, sizeof *out);
	int n = 0, at = 1;

	out[n++] = argv[0];
	while (is_ours(argv[at]))
		out[n++] = argv[at++];
	*out_is_bare = at == 1;
	out[n++] = dashes;
	out[n++] = sh;
	if (is_login)
		out[n++] = dash_l;
	while (argv[at])
		out[n++] = argv[at++];
	*argc = n;
	return out;
}

char **lau_shell_command(const char *string, char *const *operands)
{
	size_t n = 0, at = 0, len = strlen(string) + 1;
	char **out;

	while (operands[n])
		n++;
	out = b_calloc(1, (n + LAU_SHELL_FRONT + 1) * sizeof *out + len);
	out[at++] = sh;
	out[at++] = dash_c;
	/* a copy behind the words, which are not constant */
	out[at++] = memcpy(out + n + LAU_SHELL_FRONT + 1, string, len);
	memcpy(out + at, operands, n * sizeof *out);
	return out;
}
