/*
 * agents.h - an agent's directory, of which the run has a copy of its own. Its preset opens what
 * outlives a run and nobody runs or obeys; the agent also writes settings, caches and the like,
 * and the host's agent obeys them. A variable leads it to a directory in the scratch directory
 * instead: there lie copies of the files, links to what is read, links to what the preset opens.
 * What is written beside those links goes with the run.
 *
 *	lau_agents_export(&dirs, &env);
 *	lau_agents_make(&dirs, engine, &err);		before the command
 *	lau_agents_return(&dirs, engine);		when all of it has ended
 */
#pragma once

struct b_err;
struct lau_dirs;
struct lau_environment;
struct pol_engine;

/* The variables, and those of the directory for temporary files; nothing where no agent's preset is
 * in use, or no scratch directory. */
void lau_agents_export(const struct lau_dirs *, struct lau_environment *);
/* Copies what the policy lets the command read. B_SYSTEM. */
int lau_agents_make(const struct lau_dirs *, struct pol_engine *, struct b_err *err);
/* A file that the preset opens, and that the agent has replaced in the copy (a login that was
 * renewed), takes the place of the original, where the policy lets the command write that one. */
void lau_agents_return(const struct lau_dirs *, struct pol_engine *);
