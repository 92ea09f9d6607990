/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - see emit.h. */
#include "sbpl/emit.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"

enum part { PART_HEAD, PART_READ, PART_WRITE };

/* SUB, LIT, GLOB: paths that are opened, as those of a rule; FORM: operations and filters. */
enum shape { FORM, SUB, LIT, GLOB };

struct allowance {
	enum sbpl_group group;
	enum part part;
	enum shape shape;
	const char *what;
	const char *guard;    /* an operation or filter that older releases lack */
	unsigned from, until; /* releases: 2600 = 26.0; 0 = no bound */
	const char *why;
};

#define HEAD(group, what, why)                                                                     \
	{                                                                                          \
		SBPL_GROUP_##group, PART_HEAD, FORM, what, NULL, 0, 0, why                         \
	}
#define GUARDED(group, guard, what, why)                                                           \
	{                                                                                          \
		SBPL_GROUP_##group, PART_HEAD, FORM, what, guard, 0, 0, why                        \
	}
#define READS(group, shape, path, why)                                                             \
	{                                                                                          \
		SBPL_GROUP_##group, PART_READ, shape, path, NULL, 0, 0, why                        \
	}
#define WRITES(group, shape, path, why)                                                            \
	{                                                                                          \
		SBPL_GROUP_##group, PART_WRITE, shape, path, NULL, 0, 0, why                       \
	}
#define MACH(group, name, why) HEAD(group, "mach-lookup (global-name \"" name "\")", why)

static const struct allowance table[] = {
	HEAD(BASE, "process-fork", "start other programs"),
	HEAD(BASE, "signal (target same-sandbox)", "job control among the command's own processes"),
	HEAD(BASE, "process-info* (target same-sandbox)", "ask after own children"),
	HEAD(BASE, "sysctl-read (sysctl-name-prefix \"hw.\")",
	     "node aborts without processor data"),
	HEAD(BASE, "sysctl-read (sysctl-name-prefix \"kern.\")", "host name, limits, boot time"),
	HEAD(BASE, "sysctl-read (sysctl-name-prefix \"machdep.\")", "processor features"),
	HEAD(BASE, "sysctl-read (sysctl-name-prefix \"vm.\")", "memory pressure, page size"),
	HEAD(BASE, "sysctl-read (sysctl-name-prefix \"security.mac.\")", "dyld asks at start"),
	MACH(BASE, "com.apple.system.opendirectoryd.libinfo", "getpwuid"),
	MACH(BASE, "com.apple.system.opendirectoryd.membership", "getgrouplist"),
	MACH(BASE, "com.apple.system.logger", "syslog"),
	MACH(BASE, "com.apple.logd", "os_log"),
	MACH(BASE, "com.apple.system.notification_center", "time-zone and locale changes"),
	MACH(BASE, "com.apple.bsd.dirhelper", "confstr of the per-user temporary directory"),
	MACH(BASE, "com.apple.cfprefsd.daemon", "CoreFoundation preferences"),
	MACH(BASE, "com.apple.cfprefsd.agent", "CoreFoundation preferences"),
	HEAD(BASE, "ipc-posix-shm-read* (ipc-posix-name \"apple.shm.notification_center\")",
	     "notify(3) reads its table"),
	HEAD(BASE, "ipc-posix-shm-read* (ipc-posix-name-prefix \"apple.cfprefs.\")",
	     "CoreFoundation preferences"),
	HEAD(BASE, "system-socket (socket-domain AF_UNIX)", "socketpair and local sockets"),
	HEAD(BASE, "file-ioctl (literal \"/dev/dtracehelper\")", "dyld registers probes at start"),
	READS(BASE, LIT, "/", "dyld of macOS 26 aborts without"),
	READS(BASE, SUB, "/System", "frameworks, dyld cache, time zones"),
	READS(BASE, SUB, "/usr/lib", "dyld and libraries"),
	READS(BASE, SUB, "/usr/bin", "programs"),
	READS(BASE, SUB, "/bin", "programs"),
	READS(BASE, SUB, "/usr/sbin", "programs"),
	READS(BASE, SUB, "/sbin", "programs"),
	READS(BASE, SUB, "/usr/libexec", "helpers of programs"),
	READS(BASE, SUB, "/usr/share", "terminfo, locales, zone files"),
	READS(BASE, SUB, "/Library/Apple", "the part of the system that updates on its own"),
	READS(BASE, SUB, "/private/var/db/timezone", "local time"),
	READS(BASE, SUB, "/private/var/db/dyld", "the dyld cache of old releases"),
	READS(BASE, SUB, "/private/var/select", "which shell is sh"),
	READS(BASE, LIT, "/private/etc/hosts", "names"),
	READS(BASE, LIT, "/private/etc/resolv.conf", "names"),
	READS(BASE, LIT, "/private/etc/passwd", "users"),
	READS(BASE, LIT, "/private/etc/group", "groups"),
	READS(BASE, LIT, "/private/etc/services", "ports"),
	READS(BASE, LIT, "/private/etc/protocols", "protocols"),
	READS(BASE, LIT, "/private/etc/localtime", "local time"),
	READS(BASE, LIT, "/private/etc/shells", "login shells"),
	READS(BASE, SUB, "/private/etc/ssl", "certificates of OpenSSL"),
	READS(BASE, LIT, "/tmp", "a link to follow"),
	READS(BASE, LIT, "/var", "a link to follow"),
	READS(BASE, LIT, "/etc", "a link to follow"),
	READS(BASE, LIT, "/Library/Preferences/.GlobalPreferences.plist", "locale"),
	WRITES(BASE, LIT, "/dev/null", "the null device"),
	WRITES(BASE, LIT, "/dev/zero", "the zero device"),
	READS(BASE, LIT, "/dev/random", "random bytes"),
	READS(BASE, LIT, "/dev/urandom", "random bytes"),
	READS(BASE, LIT, "/dev/autofs_nowait", "lookups that must not mount"),
	WRITES(BASE, LIT, "/dev/dtracehelper", "dyld registers probes at start"),
	WRITES(BASE, SUB, "/dev/fd", "descriptors by name"),
	WRITES(BASE, LIT, "/dev/stdin", "descriptors by name"),
	WRITES(BASE, LIT, "/dev/stdout", "descriptors by name"),
	WRITES(BASE, LIT, "/dev/stderr", "descriptors by name"),

	HEAD(TTY, "pseudo-tty", "openpty of terminal programs and tests"),
	HEAD(TTY, "file-ioctl (literal \"/dev/tty\") (literal \"/dev/ptmx\")", "raw mode"),
	HEAD(TTY, "file-ioctl (regex \"^/dev/ttys[0-9]*$\")", "raw mode, window size"),
	WRITES(TTY, LIT, "/dev/tty", "ask for a pass phrase"),
	WRITES(TTY, LIT, "/dev/ptmx", "openpty"),
	WRITES(TTY, GLOB, "/dev/ttys*", "the terminal itself"),

	READS(TOOLS, SUB, "/opt/homebrew", "Homebrew on Apple silicon"),
	READS(TOOLS, SUB, "/usr/local", "Homebrew on Intel, software put in by hand"),
	READS(TOOLS, SUB, "/nix/store", "Nix"),
	READS(TOOLS, SUB, "/Library/Developer", "command-line tools: git, clang, make"),
	READS(TOOLS, GLOB, "/Applications/Xcode*.app/Contents/Developer/**", "Xcode"),
	READS(TOOLS, LIT, "/private/var/db/xcode_select_link", "which Xcode: /usr/bin/git asks"),
	READS(TOOLS, LIT, "/Library/Preferences/com.apple.dt.Xcode.plist",
	      "/usr/bin/git asks for the licence"),

	HEAD(PYTHON, "ipc-posix-sem*", "multiprocessing makes semaphores"),
	HEAD(PYTHON, "ipc-posix-shm* (ipc-posix-name-prefix \"__KMP_REGISTERED_LIB_\")", "OpenMP"),
	HEAD(NODE, "sysctl-write (sysctl-name \"kern.tcsm_enable\")", "V8 at start"),
	HEAD(JAVA, "sysctl-write (sysctl-name \"kern.grade_cputype\")", "start on Apple silicon"),

	HEAD(DNS, "network-outbound (literal \"/private/var/run/mDNSResponder\")", "getaddrinfo"),
	MACH(DNS, "com.apple.dnssd.service", "getaddrinfo"),
	MACH(DNS, "com.apple.SystemConfiguration.configd", "resolver and proxy settings"),
	MACH(DNS, "com.apple.SystemConfiguration.DNSConfiguration", "resolver settings"),
	HEAD(DNS, "system-socket (socket-domain AF_ROUTE)", "address selection"),

	MACH(TLS, "com.apple.trustd", "certificates by Security.framework"),
	MACH(TLS, "com.apple.trustd.agent", "certificates by Security.framework"),
	/* Not com.apple.SecurityServer, which is the keychain's, too: that group has it. */
	READS(TLS, SUB, "/private/var/db/mds", "Security.framework's module table"),

	MACH(FSEVENTS, "com.apple.FSEvents", "watchers; else they poll"),
	{SBPL_GROUP_SSH_AGENT, PART_HEAD, FORM,
	 "network-outbound (regex "
	 "\"^/private/tmp/com\\\\.apple\\\\.launchd\\\\.[^/]*/Listeners$\")",
	 NULL, 0, 2603, "the agent's socket"},
	{SBPL_GROUP_SSH_AGENT, PART_HEAD, FORM,
	 "network-outbound (regex "
	 "\"^/private/var/run/com\\\\.apple\\\\.launchd\\\\.[^/]*/Listeners$\")",
	 NULL, 2604, 0, "the agent's socket, where 26.4 moved it"},
	MACH(KEYCHAIN, "com.apple.securityd.xpc", "claude and osxkeychain log in with it"),
	MACH(KEYCHAIN, "com.apple.SecurityServer", "claude and osxkeychain log in with it"),
	MACH(KEYCHAIN, "com.apple.secd", "claude and osxkeychain log in with it"),
	GUARDED(POWER, "iokit-open-user-client",
		"iokit-open-user-client (iokit-user-client-class \"RootDomainUserClient\")",
		"keep the machine awake during long builds"),
};

#define N (sizeof table / sizeof *table)

static const char *const group_names[] = {
#define X(name, text, on) [SBPL_GROUP_##name] = text,
	SBPL_GROUPS(X)
#undef X
};

unsigned sbpl_groups_default(void)
{
	unsigned bits = 0;

#define X(name, text, on) bits |= (on) ? 1u << SBPL_GROUP_##name : 0;
	SBPL_GROUPS(X)
#undef X
	return bits;
}

/* The rule of an allowance of files. */
static struct pol_rule rule_of(const struct allowance *a, struct b_arena *arena)
{
	static const enum pol_shape shapes[] = {
		[SUB] = POL_TREE, [LIT] = POL_EXACT, [GLOB] = POL_GLOB};
	const char *base = strcmp(a->what, "/") == 0 ? "" : a->what, *glob = NULL;

	if (a->shape == GLOB) {
		glob = strchr(a->what, '*');
		while (*glob != '/')
			glob--;
		base = b_arena_strndup(arena, a->what, (size_t)(glob++ - a->what));
	}
	return (struct pol_rule){
		.allow = true,
		.layer = POL_LAYER_MAIN,
		.shape = shapes[a->shape],
		.tier = POL_TIER_BASE,
		.base = base,
		.base_len = strlen(base),
		.glob = glob,
		.matched = a->what,
		.origin = b_arena_printf(arena, SBPL_GROUP_ORIGIN "%s: %s", group_names[a->group],
					 a->why),
	};
}

static void add_one(struct b_str *out, const struct allowance *a)
{
	if (a->guard)
		b_str_addf(out, "(if (defined? '%s) ", a->guard);
	b_str_addf(out, "(allow %s)%s ; %s: %s\n", a->what, a->guard ? ")" : "",
		   group_names[a->group], a->why);
}

static bool in_release(const struct allowance *a, unsigned macos)
{
	return !macos || ((!a->from || macos >= a->from) && (!a->until || macos <= a->until));
}

unsigned sbpl_group_bit(const char *name)
{
	for (int g = 0; g < SBPL_GROUP_COUNT; g++)
		if (strcmp(name, group_names[g]) == 0)
			return 1u << g;
	return 0;
}

size_t sbpl_groups_add(struct b_str *out, unsigned bits, unsigned macos)
{
	size_t n = 0;

	for (size_t i = 0; i < N; i++) {
		if (!(bits >> table[i].group & 1) || table[i].shape != FORM ||
		    !in_release(&table[i], macos))
			continue;
		add_one(out, &table[i]);
		n++;
	}
	return n;
}

/* What may be written may be read; what may be read may be executed. */
void sbpl_groups_rules(unsigned bits, sbpl_group_rule *add, void *ctx)
{
	struct b_arena arena = {0};

	for (size_t i = 0; i < N; i++) {
		const struct allowance *a = &table[i];
		unsigned ops = 1u << SBX_READ | 1u << SBX_EXEC;
		struct pol_rule r;

		if (!(bits >> a->group & 1) || a->shape == FORM)
			continue;
		r = rule_of(a, &arena);
		add(ctx, ops | (a->part == PART_WRITE ? 1u << SBX_MODIFY : 0), &r);
	}
	b_arena_release(&arena);
}

bool sbpl_is_group_rule(const struct pol_rule *r)
{
	return strncmp(r->origin, SBPL_GROUP_ORIGIN, sizeof SBPL_GROUP_ORIGIN - 1) == 0;
}

static void add_form(void *ctx, unsigned ops, const struct pol_rule *r)
{
	bool writes = ops >> SBX_MODIFY & 1;

	b_str_addf(ctx, "(allow file-read*%s ", writes ? " file-write* file-link" : "");
	sbpl_put_plain_filter(ctx, r);
	b_str_addc(ctx, ')');
	sbpl_put_comment(ctx, r->origin + sizeof SBPL_GROUP_ORIGIN - 1);
}

bool sbpl_group_file(const char *file, struct b_str *out)
{
	for (int g = 0; g < SBPL_GROUP_COUNT; g++) {
		size_t n = strlen(group_names[g]);

		if (strncmp(file, "sbx-", 4) != 0 || strncmp(file + 4, group_names[g], n) != 0 ||
		    strcmp(file + 4 + n, ".sb") != 0)
			continue;
		sbpl_groups_add(out, 1u << g, 0);
		sbpl_groups_rules(1u << g, add_form, out);
		return true;
	}
	return false;
}

/* ---- an index by name ---- */

static size_t hash(const char *s)
{
	size_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

static unsigned *slot_of(const struct sbpl_names *names, const char *wanted)
{
	size_t at = hash(wanted) & names->mask;

	while (names->slot[at] && strcmp(names->name(names->ctx, names->slot[at] - 1), wanted) != 0)
		at = (at + 1) & names->mask;
	return &names->slot[at];
}

void sbpl_names_build(struct sbpl_names *names, struct b_arena *a, size_t n)
{
	size_t size = 64;

	while (size < 2 * n)
		size *= 2;
	names->slot = b_arena_alloc(a, size * sizeof *names->slot);
	names->mask = size - 1;
	for (size_t i = 0; i < n; i++) {
		unsigned *slot = slot_of(names, names->name(names->ctx, i));

		if (!*slot)
			*slot = (unsigned)i + 1;
	}
}

unsigned sbpl_names_find(const struct sbpl_names *names, const char *wanted)
{
	return *slot_of(names, wanted);
}
