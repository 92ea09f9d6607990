/* fixed.c - see fixed.h. */
#include "policy/front/fixed.h"

#include <stddef.h>
#include <string.h>

#include "policy/model.h"

const char *const pol_caliban_readable[] = {"/usr",   "/etc", "/bin",  "/lib",
					    "/lib64", "/opt", "/proc", NULL};

const char *const pol_srt_writable[] = {"/tmp/claude", "~/.npm/_logs", "~/.claude/debug", NULL};

const char *const pol_srt_denied[POL_SRT_DENIED] = {
	".gitconfig", ".gitmodules",	  ".bashrc",	    ".bash_profile", ".zshrc",
	".zprofile",  ".profile",	  ".ripgreprc",	    ".mcp.json",     ".vscode",
	".idea",      ".claude/commands", ".claude/agents", ".git/hooks",    ".git/config",
};

bool pol_srt_may_hold(const struct pol_text *path, const struct pol_texts *list)
{
	size_t n = strlen(path->s);

	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->v[i].s;

		/* The home does not lie in a workspace; of others that begin otherwise nobody
		 * knows. */
		if (path->s[0] == '$' && s[0] == '~')
			continue;
		if (s[0] != path->s[0] ||
		    (strncmp(s, path->s, n) == 0 && (s[n] == '/' || s[n] == '\0')))
			return true;
	}
	return false;
}
