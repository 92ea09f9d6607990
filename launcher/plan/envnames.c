/* SPDX-License-Identifier: Apache-2.0 */
/* envnames.c - see environment.h. */
#include "launcher/plan/environment.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define IN(list, name) is_in(list, sizeof(list) / sizeof *(list), name)

bool lau_env_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *tried = NULL; /* the last `*`, and what it ends before */

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			tried = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++tried;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (lau_env_matches(list[i], name))
			return true;
	return false;
}

/* ---- secrets ---- */

enum { SHOWN = 1 << LAU_SECRET_SHOWN, SCRUB = 1 << LAU_SECRET_SCRUB };
enum { CALIBAN = 1 << LAU_SECRET_CALIBAN, ORBIT = 1 << LAU_SECRET_ORBIT };

/* Which part of a name says that its value is secret, and to whom; whatever the case. Rather too
 * many than too few: KEYBOARD counts. */
static const struct secret_word {
	const char *word;
	enum { ANYWHERE, AT_END, WHOLE } place;
	unsigned uses;
	const char *but; /* patterns of names in which the word means nothing secret */
} secret_words[] = {
	{"SECRET", ANYWHERE, SHOWN | SCRUB | CALIBAN | ORBIT, NULL},
	{"TOKEN", ANYWHERE, SHOWN | SCRUB | CALIBAN | ORBIT, NULL},
	{"PASSWORD", ANYWHERE, SHOWN | SCRUB | CALIBAN | ORBIT, NULL},
	{"CREDENTIAL", ANYWHERE, SHOWN | SCRUB | CALIBAN | ORBIT, NULL},
	{"KEY", ANYWHERE, SCRUB | CALIBAN | ORBIT, NULL},
	{"API_KEY", ANYWHERE, SHOWN, NULL},
	{"_KEY", AT_END, SHOWN, NULL},
	{"PASSWD", ANYWHERE, SHOWN | SCRUB, NULL},
	{"PASSCODE", ANYWHERE, SHOWN | SCRUB, NULL},
	{"PASSPHRASE", ANYWHERE, SCRUB, NULL},
	{"PRIVATE", ANYWHERE, SHOWN | SCRUB, NULL},
	{"COOKIE", ANYWHERE, SHOWN | SCRUB, NULL},
	{"BEARER", ANYWHERE, SHOWN | SCRUB, NULL},
	{"SESSION", ANYWHERE, SHOWN, NULL},
	{"SESSION", ANYWHERE, SCRUB,
	 "XDG_SESSION_* *DESKTOP_SESSION* KDE_SESSION_* SESSION_MANAGER DBUS_SESSION_BUS_*"},
	{"AUTH", ANYWHERE, SHOWN, NULL},
	{"AUTH", ANYWHERE, SCRUB, "SSH_AUTH_SOCK XAUTHORITY *AUTHOR *AUTHORS *AUTHOR_*"},
	/* headers of requests: authorisation, mostly */
	{"OTEL_EXPORTER_OTLP_HEADERS", WHOLE, SCRUB | CALIBAN, NULL},
};

/* One of the patterns, parted by blanks. */
static bool is_excepted(const char *patterns, const char *name)
{
	char pattern[32];

	for (size_t n; patterns && *patterns; patterns += n + (patterns[n] == ' ')) {
		n = strcspn(patterns, " ");
		memcpy(pattern, patterns, n);
		pattern[n] = '\0';
		if (lau_env_matches(pattern, name))
			return true;
	}
	return false;
}

static bool has_word(const struct secret_word *w, const char *name)
{
	size_t n = strlen(name), len = strlen(w->word);

	if (w->place == WHOLE)
		return strcasecmp(name, w->word) == 0;
	for (size_t i = w->place == AT_END && n >= len ? n - len : 0; i + len <= n; i++)
		if (strncasecmp(name + i, w->word, len) == 0)
			return true;
	return false;
}

bool lau_name_is_secret(const char *name, enum lau_secret_use use)
{
	for (size_t i = 0; i < sizeof secret_words / sizeof *secret_words; i++) {
		const struct secret_word *w = &secret_words[i];

		if (w->uses >> use & 1 && has_word(w, name) && !is_excepted(w->but, name))
			return true;
	}
	return false;
}

/* ---- hooks ---- */

static const char *const hooks[] = {
	/* ld.so(8), and what glibc itself drops for set-user-ID programs; dyld(1) */
	"LD_*",
	"DYLD_*",
	"GLIBC_TUNABLES",
	"GCONV_PATH",
	"GETCONF_DIR",
	"LOCPATH",
	"NLSPATH",
	"MALLOC_TRACE",
	"HOSTALIASES",
	"RESOLV_HOST_CONF",
	/* shells; bash(1) reads functions from BASH_FUNC_name%% */
	"BASH_ENV",
	"ENV",
	"BASH_FUNC_*",
	"SHELLOPTS",
	"BASHOPTS",
	"BASH_LOADABLES_PATH",
	"PS4",
	"PROMPT_COMMAND",
	"ZDOTDIR",
	"FPATH",
	/* JavaScript */
	"NODE_OPTIONS",
	"NODE_PATH",
	"NODE_REPL_EXTERNAL_MODULE",
	"BUN_OPTIONS",
	"npm_config_node_options",
	"npm_config_script_shell",
	"npm_config_git",
	"NPM_CONFIG_NODE_OPTIONS",
	"NPM_CONFIG_SCRIPT_SHELL",
	"NPM_CONFIG_GIT",
	/* Python; PYTHONWARNINGS imports the module that a category is in */
	"PYTHONSTARTUP",
	"PYTHONPATH",
	"PYTHONHOME",
	"PYTHONINSPECT",
	"PYTHONBREAKPOINT",
	"PYTHONUSERBASE",
	"PYTHONPLATLIBDIR",
	"PYTHONEXECUTABLE",
	"PYTHONWARNINGS",
	"PYTHONPYCACHEPREFIX",
	"PYTHONCASEOK",
	/* Perl, Ruby, PHP, Lua, Tcl, R, Julia, Guile, Erlang */
	"PERL5LIB",
	"PERLLIB",
	"PERL5OPT",
	"PERL5DB",
	"PERL5SHELL",
	"RUBYOPT",
	"RUBYLIB",
	"RUBYSHELL",
	"PHPRC",
	"PHP_INI_SCAN_DIR",
	"LUA_INIT*",
	"LUA_PATH*",
	"LUA_CPATH*",
	"TCLLIBPATH",
	"R_PROFILE*",
	"R_ENVIRON*",
	"JULIA_LOAD_PATH",
	"JULIA_DEPOT_PATH",
	"GUILE_LOAD_PATH",
	"GUILE_LOAD_COMPILED_PATH",
	"ERL_*FLAGS",
	"ERL_LIBS",
	"ELIXIR_ERL_OPTIONS",
	/* Java and .NET */
	"JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS",
	"JAVA_OPTS",
	"CLASSPATH",
	"MAVEN_OPTS",
	"GRADLE_OPTS",
	"ANT_OPTS",
	"SBT_OPTS",
	"DOTNET_STARTUP_HOOKS",
	"DOTNET_ADDITIONAL_DEPS",
	"CORECLR_*",
	"COR_*",
	/* builds; MAKEFLAGS stays: the jobserver is in it */
	"MAKEFILES",
	"GNUMAKEFLAGS",
	"GCC_EXEC_PREFIX",
	"COMPILER_PATH",
	"RUSTC",
	"RUSTC_WRAPPER",
	"RUSTC_WORKSPACE_WRAPPER",
	"RUSTDOC",
	"CARGO_BUILD_RUSTC*",
	"CARGO_BUILD_RUSTDOC",
	"CARGO_TARGET_*_RUNNER",
	"CARGO_TARGET_*_LINKER",
	"GOFLAGS",
	"GOENV",
	/* programs that other programs start, and what they load */
	"LESSOPEN",
	"LESSCLOSE",
	"SSH_ASKPASS",
	"SUDO_ASKPASS",
	"RSYNC_RSH",
	"CVS_RSH",
	"SVN_SSH",
	"RIPGREP_CONFIG_PATH",
	"FZF_DEFAULT_COMMAND",
	"HGRCPATH",
	"AWKPATH",
	"AWKLIBPATH",
	"ELECTRON_RUN_AS_NODE",
	"VIMINIT",
	"GVIMINIT",
	"EXINIT",
	"EMACSLOADPATH",
	"OPENSSL_CONF",
	"OPENSSL_ENGINES",
	"OPENSSL_MODULES",
	"GTK_MODULES",
	"GTK_PATH",
	"GIO_EXTRA_MODULES",
	"GDK_PIXBUF_MODULE_FILE",
	"GST_PLUGIN_PATH*",
	"QT_PLUGIN_PATH",
	/* git(1) has dozens */
	"GIT_*",
};
/* Of git's, those that only say who, and how it asks. */
static const char *const git_harmless[] = {
	"GIT_AUTHOR_*",	       "GIT_COMMITTER_*",   "GIT_TERMINAL_PROMPT",
	"GIT_OPTIONAL_LOCKS",  "GIT_NO_LAZY_FETCH", "GIT_CEILING_DIRECTORIES",
	"GIT_CONFIG_NOSYSTEM", "GIT_SSL_CAINFO",    "GIT_SSL_CAPATH",
};

bool lau_env_is_hook(const char *name)
{
	return IN(hooks, name) && !IN(git_harmless, name);
}

/* ---- what stays ---- */

bool lau_env_is_usual(const char *name)
{
	static const char *const usual[] = {
		"PATH", "HOME", "USER", "LOGNAME",   "SHELL",	 "PWD",	    "LANG",  "LANGUAGE",
		"LC_*", "TZ",	"TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "TMPDIR",
	};

	return IN(usual, name);
}

bool lau_env_is_least(const char *name)
{
	static const char *const least[] = {"PATH", "HOME", "LANG"};

	return IN(least, name);
}
