/*
 * openshell_glob.h - the patterns of OpenShell for URL paths and binaries: `*` and `?` within a
 * component, `**` as a whole one for any number, `[ab]`, `[!a-z]`, `{a,b}`, `\x`. Pure.
 *
 * `/repos/` and two stars is not `/repos`; two stars beside other characters are one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define POL_OPENSHELL_ALTERNATIVES 256

/* What is wrong with the pattern ("has unclosed '['"); NULL = nothing. */
const char *pol_openshell_glob_check(const char *pattern);
/* A pattern with something wrong matches nothing. Steps: pattern times value. */
bool pol_openshell_glob_match(const char *pattern, const char *value);
