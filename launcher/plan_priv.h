/*
 * plan_priv.h - the plan's inside, shared by plan.c (what holds the command) and planlosses.c (what
 * cannot be held on this host).
 */
#pragma once

#include <stdbool.h>

#include "launcher/plan.h"

struct lau_host;
struct lau_options;

/* One line, borrowed: what is lost, which strict refuses when it is fatal; else a limit. */
void lau_plan_add(struct lau_plan *, bool fatal, const char *text);

/* ---- planlosses.c ---- */

/* The floor's gaps. */
void lau_plan_gaps(struct lau_plan *);
/* What is known of the names in the workspaces. */
void lau_plan_names(struct lau_plan *);
/* What this kernel's Landlock does not keep, nor what stands beside it; and what a namespace would
 * have kept that the spawn could not have (LAU_NET_FILTERED, LAU_NO_PID). */
void lau_plan_abi(struct lau_plan *, const struct lau_host *);
void lau_plan_abi_lost(struct lau_plan *, int lost);
/* The protected set is taken from the gaps, and told as one. */
void lau_plan_take_promises(struct lau_plan *);
void lau_plan_protected(struct lau_plan *, const struct lau_host *);
/* The broker serves here, but cannot have its callers' descriptors. */
bool lau_plan_takes_no_descriptor(const struct lau_host *);
void lau_plan_sockets(struct lau_plan *, const struct lau_host *);
void lau_plan_namespaces(const struct lau_options *, const struct lau_host *, struct lau_plan *);

/* ---- devnodes.c ---- */

/* plan->devices; and where the run has no mounts of its own, that others can be opened. */
void lau_plan_devices(const struct lau_host *, struct lau_plan *);
/* The spawn could not have such mounts (LAU_NO_NODEV). */
void lau_plan_devices_lost(struct lau_plan *);
