/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worldmodel.c - the model: what is in the world, what each policy says of it, and what the threat
 * model says is not promised. All by hand: the product's engine is a part of what is attacked.
 */
#include "attack.h"

#include <string.h>

const char *const ak_policy_names[AK_POLICIES] = {
	[AK_DEFAULT] = "default", [AK_PATTERN] = "pattern",	[AK_LITERAL] = "literal",
	[AK_SRT] = "srt",	  [AK_OPENSHELL] = "openshell", [AK_ENDPOINTS] = "endpoints",
};

/* What is not a finding: known limits of docs/THREAT-MODEL.md, each by the name that stands
 * beside the code that exempts it. */
const struct ak_exemption ak_exemptions[] = {
	{"stat-is-free",
	 "stat(2) of anything is allowed: existence, size and times are not secret; "
	 "canaries are contents and names, and never looked for in a struct stat"},
	{"readlink-is-free",
	 "targets of links, denied ones too, can be read: results of readlink are "
	 "not scanned"},
	{"watches-are-free",
	 "inotify tells names in denied directories: its events are not scanned"},
	{"attribute-names",
	 "names of attributes, access lists and labels of denied files can be read: "
	 "canaries are values of user.* attributes"},
	{"access-times", "reading changes them, and no rule speaks of them: not in the inventory"},
	{"host-moves",
	 "what the host puts into a directory while that moves is not seen: outsiders "
	 "put nothing denied into what programs may move"},
	{"host-lends", "what the host itself moves to where it may be read is lent: outsiders move "
		       "denied files only to names that are denied as well"},
	{"hard-links-before",
	 "hard links that exist before the run are judged by the name used: the "
	 "world has none of denied files"},
	{"locks", "flock and leases on readable files are possible: not in the inventory"},
	{"processes-visible", "without a pid namespace names and command lines can be read: the "
			      "outsider's canary is in its environment, memory and descriptors"},
	{"descriptor-numbers",
	 "without a pid namespace the numbers of descriptors of processes of the same user can be "
	 "listed: what they lead to cannot be opened"},
	{"run-ends",
	 "a command that ends its own run has ended nothing else: a sandbox that is gone is "
	 "a finding only when its status says that the broker or launcher failed"},
	{"execute-bits-before",
	 "a denied file that has an execute bit when the run starts can be run by a "
	 "race: the world has none"},
	{"stopped-broker",
	 "a caller whose broker the host stops while it answers may be answered 0 "
	 "without a descriptor, until the broker goes on and ends it"},
	{"terminals", "other terminals of the same user can be opened: the world has none"},
};
const unsigned ak_nexemptions = sizeof ak_exemptions / sizeof *ak_exemptions;

/* ---- what is there ---- */

/* clang-format off */
const struct ak_row ak_rows[] = {
	{"ws", AK_DIR, 0755, NULL},
	{"ws/src", AK_DIR, 0755, NULL},
	{"ws/src/a", AK_FILE, 0644, "a free file\n"},
	{"ws/src/b", AK_FILE, 0644, "another free file\n"},
	{"ws/src/prog", AK_FILE, 0755, "#!/bin/sh\necho ran\n"},
	{"ws/src/x.env", AK_FILE, 0644, NULL},
	{"ws/src/run.env", AK_FILE, 0644, NULL},
	{"ws/src/sub", AK_DIR, 0755, NULL},
	{"ws/src/sub/c", AK_FILE, 0644, "c\n"},
	{"ws/src/sub/y.env", AK_FILE, 0600, NULL},
	{"ws/src/sub/deep", AK_DIR, 0755, NULL},
	{"ws/src/sub/deep/d", AK_FILE, 0644, "d\n"},
	{"ws/src/empty", AK_DIR, 0755, NULL},
	{"ws/src/fifo", AK_FIFO, 0644, NULL},
	{"ws/pub", AK_DIR, 0777, NULL},
	{"ws/pub/x", AK_FILE, 0666, "x\n"},
	{"ws/sticky", AK_DIR, 01777, NULL},
	{"ws/sticky/link", AK_LINK, 0, "../src/a"},
	{"ws/app.env", AK_FILE, 0644, NULL},
	{"ws/hidden", AK_DIR, 0755, NULL},
	{"ws/hidden/secret", AK_FILE, 0644, NULL},
	{"ws/hidden/%", AK_FILE, 0644, NULL},
	{"ws/hidden/in", AK_DIR, 0755, NULL},
	{"ws/hidden/in/s2", AK_FILE, 0644, NULL},
	{"ws/ro", AK_DIR, 0755, NULL},
	{"ws/ro/f", AK_FILE, 0644, "read only\n"},
	{"ws/ro/d", AK_DIR, 0755, NULL},
	{"ws/ro/d/g", AK_FILE, 0644, "read only\n"},
	{"ws/dac", AK_DIR, 0755, NULL},
	{"ws/dac/mine", AK_FILE, 0600, NULL},
	{"ws/.git", AK_DIR, 0755, NULL},
	{"ws/.git/HEAD", AK_FILE, 0644, "ref: refs/heads/main\n"},
	{"ws/.git/config", AK_FILE, 0644, "[core]\n\tbare = false\n"},
	{"ws/.git/hooks", AK_DIR, 0755, NULL},
	{"ws/.git/hooks/pre-commit", AK_FILE, 0755, "#!/bin/sh\n"},
	{"ws/.git/objects", AK_DIR, 0755, NULL},
	{"ws/.git/refs", AK_DIR, 0755, NULL},
	{"ws/.vscode", AK_DIR, 0755, NULL},
	{"ws/.vscode/settings.json", AK_FILE, 0644, "{}\n"},
	{"ws/.envrc", AK_FILE, 0644, "export A=1\n"},
	{"ws/l_src", AK_LINK, 0, "src"},
	{"ws/l_ws", AK_LINK, 0, "."},
	{"ws/l_base", AK_LINK, 0, ".."},
	{"ws/l_root", AK_LINK, 0, "/"},
	{"ws/l_cwd", AK_LINK, 0, "/proc/self/cwd"},
	{"ws/l_fd", AK_LINK, 0, "/proc/self/fd"},
	{"ws/l_env", AK_LINK, 0, "app.env"},
	{"ws/l_hidden", AK_LINK, 0, "hidden"},
	{"ws/l_hooks", AK_LINK, 0, ".git/hooks"},
	{"ws/l_out", AK_LINK, 0, "../out"},
	{"ws/l_key", AK_LINK, 0, "../home/.ssh/id"},
	{"ws/l_loop", AK_LINK, 0, "l_loop"},
	{"ws/l_none", AK_LINK, 0, "src/none"},
	{"ws/l_new", AK_LINK, 0, "ro/new"},
	{"ws/l_host", AK_LINK, 0, "src"},
	{"out", AK_DIR, 0777, NULL},
	{"out/f", AK_FILE, 0666, "outside\n"},
	{"out/prog", AK_FILE, 0755, "#!/bin/sh\necho out\n"},
	{"out/d", AK_DIR, 0777, NULL},
	{"out/d/g", AK_FILE, 0666, "outside\n"},
	{"out/h", AK_DIR, 0777, NULL},
	{"home", AK_DIR, 0755, NULL},
	{"home/notes", AK_FILE, 0644, "notes\n"},
	{"home/.ssh", AK_DIR, 0755, NULL},
	{"home/.ssh/id", AK_FILE, 0644, NULL},
	{"home/.ssh/%", AK_FILE, 0644, NULL},
	{"home/.netrc", AK_FILE, 0644, NULL},
	{"home/.bashrc", AK_FILE, 0644, "# rc\n"},
};
/* clang-format on */
const unsigned ak_nrows = sizeof ak_rows / sizeof *ak_rows;

/* Names for paths of programs; some often. */
const char *const ak_names[] = {
	"ws",
	"ws/src",
	"ws/src/a",
	"ws/src/b",
	"ws/src/prog",
	"ws/src/x.env",
	"ws/src/run.env",
	"ws/src/sub",
	"ws/src/sub/c",
	"ws/src/sub/y.env",
	"ws/src/sub/deep",
	"ws/src/sub/deep/d",
	"ws/src/empty",
	"ws/src/fifo",
	"ws/pub",
	"ws/pub/x",
	"ws/sticky/link",
	"ws/app.env",
	"ws/hidden",
	"ws/hidden/secret",
	"ws/hidden/in",
	"ws/hidden/in/s2",
	"ws/ro",
	"ws/ro/f",
	"ws/ro/d",
	"ws/ro/d/g",
	"ws/dac",
	"ws/dac/mine",
	"ws/.git",
	"ws/.git/config",
	"ws/.git/hooks",
	"ws/.git/hooks/pre-commit",
	"ws/.vscode",
	"ws/.vscode/settings.json",
	"ws/.envrc",
	"ws/l_src/a",
	"ws/l_env",
	"ws/l_hidden",
	"ws/l_hidden/secret",
	"ws/l_hooks/pre-commit",
	"ws/l_out/f",
	"ws/l_key",
	"ws/l_loop",
	"ws/l_none",
	"ws/l_new",
	"ws/l_host",
	"ws/l_host/secret",
	"ws/l_fd",
	"out",
	"out/f",
	"out/prog",
	"out/d",
	"out/d/g",
	"out/host.sock",
	"home",
	"home/notes",
	"home/.ssh",
	"home/.ssh/id",
	"home/.netrc",
	"home/.bashrc",
	"home/.ssh",
	/* often: what is swapped most */
	"ws/app.env",
	"ws/hidden/secret",
	"ws/src/a",
	"ws/src/x.env",
	"home/.ssh/id",
	"ws/src/b",
	"ws/pub/x",
	"ws/ro/f",
	"out/f",
	/* not there */
	"ws/new",
	"ws/src/new",
	"ws/src/new2",
	"ws/src/newdir",
	"ws/src/newdir/f",
	"ws/pub/new",
	"ws/src/new.env",
	"ws/hidden/new",
	"ws/ro/new",
	"ws/.git/hooks/post-commit",
	"ws/.git/config.worktree",
	"ws/.git/index",
	"ws/.mcp.json",
	"ws/.claude",
	"ws/.claude/settings.json",
	"ws/src/sock",
	"ws/pub/sock",
	"ws/src/named-again",
	"ws/src/many",
	"ws/.bashrc",
	"ws/HEAD",
	"out/new",
	"out/h/1",
	"home/new",
	"home/.ssh/new",
	"new",
	"ws/src/none/x",
	"ws/src/l2",
	"ws/APP.ENV",
	"ws/.GIT/hooks/x",
	"ws/Hidden/secret",
	/* the system's */
	"/proc/self/exe",
	"/proc/self/mem",
	"/proc/self/fd/100",
	"/proc/self/fd/105",
	"/proc/self/fd/106",
	"/proc/self/fd/104",
	"/proc/self/uid_map",
	"/proc/1/environ",
	"/proc/1/root",
	"/proc/self/environ",
	"/proc/version",
	"/dev/null",
	"/dev/zero",
	"/dev/tty",
	"/dev/ptmx",
	"/dev/stdin",
	"/dev/shm/ak",
	"/etc/passwd",
	"/etc/shadow",
	"/bin/sh",
	"/bin/true",
	"/usr/bin/true",
	"/",
	"/tmp",
	"/dev/shm",
	"@ring",
	"@image",
	"@control",
	"@tmp",
	"@tmp/new",
	"@shim",
	"@victim",
	"@broker/mem",
	"@broker/environ",
	"@broker/maps",
	"@broker/cwd/etc",
	"@broker/fd",
	"out/proc/1/root",
	"out/proc/self/environ",
	"out/proc/2/mem",
	"ws/src/newdir/settings.json",
	"ws/src/newdir/hooks",
	"ws/.idea",
	"ws/.idea/workspace.xml",
	"ws/src/newdir/workspace.xml",
	"ws/src/newdir/sub",
	"ws/src/newdir/sub/x.env",
	"ws/src/newdir/sub/hooks",
	"ws/.cursor",
	"ws/.cursor/mcp.json",
	"ws/src/newdir/mcp.json",
};
const unsigned ak_nnames = sizeof ak_names / sizeof *ak_names;

/* ---- what is allowed ---- */

enum how { AT, BELOW, ENDS };

/* The last that matches says all. BELOW: the path and everything below it. ENDS: by its end, below
 * the workspace. */
struct rule {
	unsigned policies; /* bits */
	enum how how;
	const char *path;
	unsigned no;
};

#define IN(p) (1u << AK_##p)
#define ALL   (IN(DEFAULT) | IN(PATTERN) | IN(LITERAL) | IN(SRT) | IN(OPENSHELL) | IN(ENDPOINTS))
#define GIT   (IN(DEFAULT) | IN(PATTERN) | IN(LITERAL))
#define NR    AK_NO_READ
#define NM    AK_NO_MODIFY

static const struct rule rules[] = {
	{ALL, BELOW, "", NM},
	{ALL & ~IN(OPENSHELL), BELOW, "ws", 0},
	{IN(OPENSHELL), BELOW, "", NR | NM},
	{IN(OPENSHELL), BELOW, "ws/src", 0},
	{IN(OPENSHELL), BELOW, "ws/pub", 0},
	{IN(OPENSHELL), BELOW, "ws/ro", NM},
	/* the protected set */
	{GIT | IN(SRT), AT, "ws/.git", NM | AK_LOOSE},
	{GIT | IN(SRT), BELOW, "ws/.git/hooks", NM},
	{GIT | IN(SRT), AT, "ws/.git/config", NM},
	{GIT, AT, "ws/.git/config.worktree", NM},
	{GIT, AT, "ws/.git/commondir", NM},
	{GIT, AT, "ws/HEAD", NM},
	{GIT, AT, "ws/.envrc", NM},
	{GIT | IN(SRT), AT, "ws/.mcp.json", NM},
	{GIT | IN(SRT), AT, "ws/.bashrc", NM},
	{GIT, AT, "ws/.vscode/settings.json", NM},
	{GIT, AT, "ws/.claude/settings.json", NM},
	{GIT, AT, "ws/.cursor/mcp.json", NM},
	{GIT, BELOW, "ws/.idea", NM},
	/* what each says beyond that: session.c has the same as options and documents */
	{IN(PATTERN) | IN(LITERAL) | IN(SRT) | IN(ENDPOINTS), BELOW, "ws/ro", NM},
	/* with a directory a denied file may move, to where it is denied as well */
	{IN(PATTERN) | IN(SRT), ENDS, ".env", NR},
	{IN(LITERAL), BELOW, "ws/hidden", NR},
	{IN(SRT), BELOW, "ws/hidden", NR | NM}, /* srt's denyRead denies changes */
	{ALL, BELOW, "home/.ssh", NR | NM},
	{ALL, AT, "home/.netrc", NR | NM},
};

static bool matches(const struct rule *r, const char *path)
{
	size_t n = strlen(r->path), len = strlen(path);

	switch (r->how) {
	case AT:
		return !strcmp(path, r->path);
	case BELOW:
		return !n || (!strncmp(path, r->path, n) && (!path[n] || path[n] == '/'));
	case ENDS:
		return !strncmp(path, "ws/", 3) && len > n && !strcmp(path + len - n, r->path);
	}
	return false;
}

unsigned ak_rules(enum ak_policy policy, const char *path)
{
	unsigned no = 0;

	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].policies & 1u << policy && matches(&rules[i], path))
			/* a pattern that denies reading takes nothing back */
			no = rules[i].how == ENDS ? no | rules[i].no : rules[i].no;
	return no;
}
