/* orbit.h - front-end for Orbit v2 policy documents (YAML). */
#pragma once

#include <stddef.h>

struct b_err;
struct pol_doc;
struct pol_ynode;

/* Parses and validates. `name` is how messages call the text ("policy.yaml", "builtin:default").
 * Duplicate and unknown keys, anchors that nest or multiply beyond the limits, wrong types,
 * tabs, bad UTF-8: B_POLICY with file:line:col. Never touches the file system. */
int pol_orbit_parse(const char *name, const char *text, size_t len, struct pol_doc *out,
		    struct b_err *err);
/* The same of a tree (policy/front/yaml.h), which lives as long as the document. */
int pol_orbit_take(const struct pol_ynode *root, struct pol_doc *out, struct b_err *err);
/* The same into an empty document, whose arena may hold the tree. */
int pol_orbit_take_in(const struct pol_ynode *root, struct pol_doc *, struct b_err *err);
