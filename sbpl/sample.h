/* sample.h - paths that a rule speaks of. Private to sbpl/. */
#pragma once

struct b_str;
struct pol_rule;

#define SBPL_SAMPLES 4

/* Path number `variant` (< SBPL_SAMPLES) that the rule matches: names not used elsewhere stand
 * for its wildcards, of several lengths and depths. */
void sbpl_sample(const struct pol_rule *, unsigned variant, struct b_str *out);
