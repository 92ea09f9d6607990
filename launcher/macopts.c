/* macopts.c - see macopts.h. */
#include "launcher/macopts.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/confine.h"
#include "launcher/options.h"
#include "launcher/require.h"

static bool gives_caps(const struct lau_options *o)
{
	return o->caps != NULL;
}

static bool gives_allow(const struct lau_options *o)
{
	return o->allow != 0;
}

/* `--isolate none` asks for what there is. */
static bool gives_isolate(const struct lau_options *o)
{
	return o->isolate_given && o->isolate != 0;
}

static bool gives_bounds(const struct lau_options *o)
{
	return lau_bounds_any(&o->bounds);
}

static const struct {
	const char *option;
	bool (*is_given)(const struct lau_options *);
	bool is_refused; /* else a note */
	const char *why;
} rows[] = {
	{"--caps", gives_caps, true,
	 "macOS has no capabilities: root keeps what it may, within the profile: leave it out"},
	{"--isolate", gives_isolate, true,
	 "macOS has no namespaces: a run sees the processes and the shared memory of the host: "
	 "leave it out, or say none"},
	{"--memory, --cpu-time, --nproc, --fsize, --nofile", gives_bounds, true,
	 "limits are set on Linux only: leave them out, or use ulimit of the shell"},
	{"--allow", gives_allow, false,
	 "has no effect on macOS: there is no filter of system calls to relax"},
};

/* `shim` is an ability of both systems; the rest are Linux's. */
static int check_required(const struct lau_options *o, struct b_err *err)
{
	for (int need = 0; need < LAU_NEED_COUNT; need++)
		if (o->require >> need & 1 && need != LAU_NEED_SHIM)
			return b_fail(err, B_FLOOR, 0,
				      "required: %s: macOS has no such thing: leave it out, or run "
				      "on Linux",
				      lau_needs[need].name);
	if (o->require >> LAU_NEED_SHIM & 1 && o->no_shim)
		return b_fail(err, B_FLOOR, 0, "required: shim: leave out --no-shim");
	return 0;
}

int lau_macopts_check(const struct lau_options *o, struct b_str *notes, struct b_err *err)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].is_given(o))
			continue;
		if (rows[i].is_refused)
			return b_fail(err, B_FLOOR, 0, "%s: %s", rows[i].option, rows[i].why);
		b_str_addf(notes, "%s %s\n", rows[i].option, rows[i].why);
	}
	return check_required(o, err);
}
