/* SPDX-License-Identifier: Apache-2.0 */
/* run_priv.h - a run, from the options to the end: shared by run.c (up to the command) and
 * run_command.c (from there). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "launcher/exec/exec.h"
#include "launcher/linux/broker/public.h"
#include "launcher/linux/nested/nest.h"
#include "launcher/linux/run/run_reload.h"
#include "launcher/linux/run/start_egress.h"
#include "launcher/linux/process/process.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"
#include "launcher/run/channel.h"
#include "launcher/run/confine.h"
#include "launcher/run/dirs.h"
#include "launcher/run/run.h"
#include "launcher/run/spawn.h"
#include "launcher/supervise/supervise.h"

struct run {
	const struct lau_options *o;
	struct lau_host host;
	struct lau_dirs dirs;
	struct lau_plan plan;
	struct lau_channel channel;
	struct lau_record record;
	struct lau_environment env;
	bool has_copies; /* of agents' directories */
	struct lau_signals signals;
	struct lau_limits limits;
	struct lau_cgroup cgroup;
	struct lau_confine confine;
	struct lau_landlock_job landlock;
	struct lau_pipes pipes;
	struct lau_broker_plan broker;
	struct lau_movelock lock; /* of its broker */
	struct lau_spawned spawned;
	struct lau_outcome outcome;
	struct lau_capture capture;
	struct lau_terminal terminal;
	const struct lau_nest_guest *guest; /* NULL = a run of its own */
	struct lau_watch *requester;	    /* of a guest */
	struct lau_nest_server nest;
	char *program, *shim;
	struct b_str bwrap; /* its path */
	char **envp;
	bool has_signals;
	int status_fd; /* -1 = none */
	uint64_t deadline_ms;
	pid_t timer;
	struct lau_guard guard;
	struct lau_door door;
	struct lau_reload reload;   /* --reloadable */
	struct lau_reports reports; /* of the command, when it is the broker's child */
	struct lau_alone alone;	    /* of the first process of the pid namespace */
};

/* Steps: the lock of moves, of a guest the outer run's; then all losses are told. */
int lau_run_lock(struct run *, struct b_err *err);
int lau_run_losses(struct run *, struct b_err *err);
/* Steps: Landlock's rules begin to be made; the filters, and what the broker is told. */
int lau_run_landlock(struct run *, struct b_err *err);
int lau_run_kernel(struct run *, struct b_err *err);
/* Steps: the command is started; it is waited for, and what it has left. */
/* sbx-egress begins to make the run's certificates, where it ends TLS; variables name them. The
 * command waits for them. */
int lau_run_tls(struct run *, struct b_err *err);
int lau_run_check_cwd(const struct run *, struct b_err *err);
int lau_run_spawn(struct run *, struct b_err *err);
int lau_run_supervise(struct run *, struct b_err *err);
