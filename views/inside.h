/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - the runs that began inside of a run, and have records of their own. */
#pragma once

struct view;

/* Says how many there were, where there were any: a line, or an object with `runs_inside`. */
void view_add_inside(const struct view *);
/* Lists them, each below the run that it is directly inside of: its end, what it was refused, its
 * command; or an object each, with `run_id` and `parent_run_id`. */
void view_list_inside(const struct view *);
