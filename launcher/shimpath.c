/* shimpath.c - see shimpath.h. */
#include "launcher/shimpath.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "core/channel.h"

static const char installed[] = SBX_LIBEXECDIR "/sbx-launch/" SBX_SHIM_SONAME;

int lau_shim_find(char **out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self);

	while (n > 0 && n < (ssize_t)sizeof self && self[n - 1] != '/')
		n--;
	if (n > 0)
		b_str_addn(&path, self, (size_t)n);
	b_str_add(&path, SBX_SHIM_SONAME);
	if (access(path.s, R_OK) < 0) {
		b_str_reset(&path);
		b_str_add(&path, installed);
	}
	if (access(path.s, R_OK) < 0)
		return b_fail(err, B_SHIM, 0,
			      "%s is neither beside sbx-launch nor in %s: install it, or run "
			      "without events (--no-shim)",
			      SBX_SHIM_SONAME, installed);
	/* ld.so(8) splits there, and has no quoting */
	if (strpbrk(path.s, ": "))
		return b_fail(
			err, B_SHIM, 0,
			"%s cannot be preloaded: its path holds a blank or colon: move it, or "
			"run without events (--no-shim)",
			path.s);
	*out = b_str_take(&path);
	return 0;
}
