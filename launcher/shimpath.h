/* shimpath.h - where the shim lies. */
#pragma once

struct b_err;

/* Beside this program (a build tree), else where `make install` puts it. malloc'ed. B_SHIM when
 * there is none, or its path cannot stand in LD_PRELOAD. */
int lau_shim_find(char **out, struct b_err *err);
