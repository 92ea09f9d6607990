/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - adds our hook to the settings of an agent, or our shell to those of a tool, and takes
 * it out again. The launcher's state keeps the file's earlier content, so that an undo restores
 * the same bytes. If the file was changed since, the undo takes out what setup has put in, and
 * leaves the rest alone.
 *
 *	struct ad_setup s = {.agent = ad_agent_find("claude"), .launcher = &words};
 *	status = ad_setup(&s, &said, &err) < 0 ? b_report(...) : 0;
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct ad_agent;
struct ad_tool;
struct b_err;
struct b_strlist;

struct ad_setup {
	const struct ad_agent *agent; /* or, with ad_setup_tool(), */
	const struct ad_tool *tool;
	const struct b_strlist *launcher; /* the program and its options */
	bool project;			  /* the settings of the current directory */
	bool undo, dry_run;
};

/* What was done, and the difference, is added to *said. B_USAGE, B_FORMAT: the settings cannot be
 * read, or put all hooks out of force; B_SYSTEM. On error nothing was changed. */
int ad_setup(const struct ad_setup *, struct b_str *said, struct b_err *err);
/* The same for a tool. Where it has several files all are read before the first is changed. */
int ad_setup_tool(const struct ad_setup *, struct b_str *said, struct b_err *err);
