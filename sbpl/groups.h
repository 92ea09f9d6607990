/*
 * groups.h - what a program on macOS needs besides its policy: named groups of allowances, each
 * with its reason. Facts about macOS 13 to 26, collected from profiles in daily use; none was
 * tried on a Mac by us.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;
struct pol_rule;

/* name, text, on by default */
#define SBPL_GROUPS(X)                                                                             \
	X(BASE, "base", true)                                                                      \
	X(TTY, "tty", true)                                                                        \
	X(TOOLS, "tools", true)                                                                    \
	X(PYTHON, "python", true)                                                                  \
	X(NODE, "node", true)                                                                      \
	X(JAVA, "java", false)                                                                     \
	X(DNS, "dns", false)                                                                       \
	X(TLS, "tls", false)                                                                       \
	X(FSEVENTS, "fsevents", false)                                                             \
	X(SSH_AGENT, "ssh-agent", false)                                                           \
	X(KEYCHAIN, "keychain", false)                                                             \
	X(POWER, "power", false)

enum sbpl_group {
#define X(name, text, on) SBPL_GROUP_##name,
	SBPL_GROUPS(X)
#undef X
		SBPL_GROUP_COUNT
};

#define SBPL_GROUPS_DEFAULT sbpl_groups_default()

/* The bits of the groups that are on by default. */
unsigned sbpl_groups_default(void);

/* The bit of the group of this name, 0 = there is none. */
unsigned sbpl_group_bit(const char *name);

/* Appends the allowances of the groups in `bits` that are about no path, for release `macos`
 * (1404 = 14.4, 0 = any), comments included; returns the number of rules. */
size_t sbpl_groups_add(struct b_str *out, unsigned bits, unsigned macos);

/*
 * Those about files are rules of the base tier like others, so that the engine, its shim and the
 * profile answer alike, and a policy's rules may take them back. `ops`: bits 1u << enum sbx_op.
 * Strings live until `add` returns.
 */
#define SBPL_GROUP_ORIGIN "builtin:macos:"
typedef void sbpl_group_rule(void *ctx, unsigned ops, const struct pol_rule *);
void sbpl_groups_rules(unsigned bits, sbpl_group_rule *add, void *ctx);
bool sbpl_is_group_rule(const struct pol_rule *);
/* The text of "sbx-NAME.sb", for import: a whole group. False: no such file. */
bool sbpl_group_file(const char *file, struct b_str *out);
