/* fixed.c - see fixed.h. */
#include "policy/front/fixed.h"

#include <stddef.h>

const char *const pol_caliban_readable[] = {"/usr",   "/etc", "/bin",  "/lib",
					    "/lib64", "/opt", "/proc", NULL};

const char *const pol_srt_writable[] = {"/tmp/claude", "~/.npm/_logs", "~/.claude/debug", NULL};

const char *const pol_srt_denied[POL_SRT_DENIED] = {
	".gitconfig", ".gitmodules",	  ".bashrc",	    ".bash_profile", ".zshrc",
	".zprofile",  ".profile",	  ".ripgreprc",	    ".mcp.json",     ".vscode",
	".idea",      ".claude/commands", ".claude/agents", ".git/hooks",    ".git/config",
};
