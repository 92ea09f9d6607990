/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oldhosts.c - which namespaces a run has, and what its host lacks: the words of --isolate.
 *
 *	auto	as the launcher does by default
 *	none	no namespaces: numbers of processes are the host's
 *	old	none, and below ABI 6 of Landlock: the broker sends signals
 *	older	below ABI 3: the broker truncates, too
 *	parent	the broker is the command's parent, as Yama may want it
 */
#include "attack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct ak_isolation isolations[] = {
	{"auto", NULL, true, false, NULL},  {"none", "none", false, false, NULL},
	{"old", "none", false, false, "5"}, {"older", NULL, true, false, "2"},
	{"parent", NULL, true, true, NULL},
};

const struct ak_isolation *ak_isolation(const char *name)
{
	for (unsigned i = 0; i < sizeof isolations / sizeof *isolations; i++)
		if (!strcmp(isolations[i].name, name))
			return &isolations[i];
	return NULL;
}

/* What is remembered of a host after two runs (tests/support/e2e.sh: e2e_be_parent). */
static bool run_once(const char *sbx, const char *state, const char *ws)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		setenv("XDG_STATE_HOME", state, 1);
		setenv("HOME", ws, 1);
		setenv("LLVM_PROFILE_FILE", "/dev/null", 1);
		unsetenv("XDG_RUNTIME_DIR");
		if (chdir("/") == 0)
			execl(sbx, sbx, "-q", "--no-shim", "--workspace", ws, "--", "true", NULL);
		_exit(126);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool read_text(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(out, 1, size - 1, f) : 0;

	out[n] = '\0';
	if (f)
		(void)fclose(f);
	return n > 0;
}

bool ak_make_parent(const char *sbx, const char *state, const char *ws)
{
	static const char has[] = "\n0 0 0 0 0 0 0 0 0 end\n", now[] = "\n7 1 0 0 0 0 0 0 0 end\n";
	static char text[65536]; /* the same for each session */
	char path[200], *at;
	FILE *f;

	if (!run_once(sbx, state, ws) || !run_once(sbx, state, ws))
		return false;
	snprintf(path, sizeof path, "%s/sbx-launch/runs", state);
	ak_remove_tree(path); /* the record is that of the run to come */
	snprintf(path, sizeof path, "%s/sbx-launch/host", state);
	if (!read_text(path, text, sizeof text) || !(at = strstr(text, has)))
		return false;
	memcpy(at, now, sizeof now - 1);
	f = fopen(path, "we");
	if (!f)
		return false;
	(void)fputs(text, f);
	return fclose(f) == 0;
}
