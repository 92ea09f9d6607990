/*
 * groups.h - what a program on macOS needs besides its policy: named groups of allowances, each
 * with its reason. Facts about macOS 13 to 26, collected from profiles in daily use; none was
 * tried on a Mac by us.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_str;

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

/* Where an allowance stands in a profile. Files come in the ordered blocks, so that a policy's
 * rules may take them back. */
enum sbpl_part {
	SBPL_PART_HEAD, /* everything that is about no path */
	SBPL_PART_READ,
	SBPL_PART_WRITE,
	SBPL_PART_EXEC /* the trees that may be read */
};

/* Appends the allowances of a part of the groups in `bits`, for release `macos` (1404 = 14.4, 0 =
 * any), comments included; returns the number of rules. */
size_t sbpl_groups_add(struct b_str *, unsigned bits, enum sbpl_part, unsigned macos);
/* Does a group open this path for reading or writing? */
bool sbpl_groups_cover(unsigned bits, enum sbpl_part, const char *path, size_t len);
/* The text of "sbx-NAME.sb", for import: a whole group. False: no such file. */
bool sbpl_group_file(const char *file, struct b_str *out);
