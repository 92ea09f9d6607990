/*
 * bwrap.h - a plan of mounts as arguments of bubblewrap (bwrap(1), 0.5 and later). Pure.
 *
 *	struct pol_bwrap o = {.network = false, .pid = true, .cwd = "/w"};
 *	pol_bwrap_arguments(&mounts, &o, &args);
 *	bwrap --args FD ...	FD: args.s, each argument ended by a NUL
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct b_str;
struct pol_mounts;

struct pol_bwrap {
	bool network;	    /* the host's */
	bool user;	    /* a user namespace: for whoever is not root */
	bool pid;	    /* a pid namespace and its /proc; else the host's /proc is bound */
	bool cgroup;	    /* a cgroup namespace, where there are such */
	uint64_t keep_caps; /* mask, capabilities(7) */
	const char *cwd;
};

/* Appends the arguments up to, and without, `--` and the command. */
void pol_bwrap_arguments(const struct pol_mounts *, const struct pol_bwrap *, struct b_str *out);
/* Such arguments for a person: an option a line. */
void pol_bwrap_show(const struct b_str *args, struct b_str *out);
