/* seccomp.h - the static filter as data: which calls get which answer and why (DESIGN §4.1).
 * Pure; printed by `sbx-policy show --plan seccomp`, built with libseccomp. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

/* What relaxes or tightens the filter. */
#define POL_SC_ALLOW_DEBUG	0x1u /* ptrace, process_vm, personality */
#define POL_SC_ALLOW_NAMESPACES 0x2u
#define POL_SC_UNIX_HOST	0x4u /* socket(AF_UNIX) stays */
#define POL_SC_NO_INET		0x8u /* --network none without a network namespace */
#define POL_SC_NO_TRUNCATE	0x10u /* Landlock below ABI 3 */
#define POL_SC_FLAGS		0x20u /* all combinations are below this */

struct pol_sc_arg {
	unsigned char index;
	char cmp;	   /* '=' equal, '!' not equal, '&' masked equal, '>' greater or equal */
	uint64_t mask, value; /* low 32 bits only unless noted: CVE-2019-10063 */
};
struct pol_sc_rule {
	const char *call;
	int err; /* errno to answer */
	unsigned nargs;
	struct pol_sc_arg arg[3];
	unsigned unless; /* POL_SC_*: the row is left out when one of these is set */
	unsigned only;	 /* POL_SC_*: the row applies only when one of these is set; 0 = always */
	const char *why;
};
const struct pol_sc_rule *pol_sc_rules(size_t *out_n);
void pol_sc_show(unsigned flags, struct b_str *out);
