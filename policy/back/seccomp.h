/*
 * seccomp.h - the static filter as data: which calls get which answer and why (DESIGN §4.1).
 *
 * Pure. `sbx-policy show --plan seccomp` prints it; launcher/linux/filtercode.c compiles it at
 * build time, once per combination of flags, so that a launch only points the kernel at an array.
 *
 * What the table does not name and policy/back/syscalls.h knows is allowed; what neither does the
 * kernel answers as if it did not know it (ENOSYS). The rows of one call are asked in their order,
 * and the first that holds answers; between calls order carries no meaning. A call that a machine
 * does not have (open on arm64) is left out there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

/* What relaxes or tightens the filter. */
#define POL_SC_ALLOW_DEBUG 0x1u /* ptrace, process_vm, personality */
#define POL_SC_ALLOW_NAMESPACES                                                                    \
	0x2u			 /* clone, unshare, setns, chroot (mounts stay shut: Landlock) */
#define POL_SC_UNIX_HOST   0x4u	 /* socket(AF_UNIX) stays */
#define POL_SC_NO_INET	   0x8u	 /* --network none without a network namespace */
#define POL_SC_NO_TRUNCATE 0x10u /* Landlock below ABI 3 */
#define POL_SC_BROKER                                                                              \
	0x20u		     /* the broker judges sockets by path and modes of openat2;            \
			      * it refuses ptrace and namespaces aloud */
#define POL_SC_DEVICES 0x40u /* a rule opens devices beyond the usual ones: their ioctls */
#define POL_SC_NO_IPC  0x80u /* the run has no IPC namespace; POL_SC_NO_INET says so as well */
#define POL_SC_FLAGS   0x100u /* all combinations are below this */

struct pol_sc_arg {
	unsigned char index;
	/* '&': (argument & mask) == value, the form that looks at the low 32 bits only, as the
	 * kernel does for int arguments (CVE-2019-10063); so do '|': (argument & mask) != 0, and
	 * '-': value <= argument <= mask. '!' and '>' compare all 64 bits with `value`: stray high
	 * bits then refuse, never permit. */
	char cmp;
	uint64_t mask, value;
};
struct pol_sc_rule {
	const char *call;
	int err; /* errno to answer, 0 = allowed */
	unsigned nargs;
	struct pol_sc_arg arg[3]; /* all must hold, each about another argument */
	unsigned unless;	  /* POL_SC_*: the row is left out when one of these is set */
	unsigned only; /* POL_SC_*: the row applies only when one of these is set; 0 = always */
	const char *why;
};
const struct pol_sc_rule *pol_sc_rules(size_t *out_n);
/* Does the row belong to the filter of these flags? */
bool pol_sc_applies(const struct pol_sc_rule *, unsigned flags);
void pol_sc_show(unsigned flags, struct b_str *out);
