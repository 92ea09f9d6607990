/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - see broker.h. */
#include "tests/support/broker.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/linux/broker/public.h"
#include "launcher/run/confine.h"
#include "launcher/linux/confine/confine_priv.h"
#include "policy/plan/floor.h"
#include "policy/plan/landlock.h"
#include "policy/compile/ruleset.h"

/* A sanitizer's run-time makes calls of its own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void add(struct pol_ruleset *rules, unsigned layer, enum sbx_op op, const char *line,
		bool allow)
{
	struct pol_rule r = {.allow = allow,
			     .layer = (uint8_t)layer,
			     .tier = POL_TIER_PROFILE,
			     .origin = "t.yaml:1:1"};
	char kind, base[512] = "", glob[512] = "";

	cr_assert_geq(sscanf(line, " %c %511s %511s", &kind, base, glob), 2, "%s", line);
	r.shape = kind == 'E' ? POL_EXACT : kind == 'T' ? POL_TREE : POL_GLOB;
	r.base = strcmp(base, "/") != 0 ? base : "";
	r.base_len = strlen(r.base);
	r.glob = kind == 'G' ? glob : NULL;
	r.matched = line;
	pol_ruleset_add(rules, op, &r);
}

void sb_policy_make(struct sb_policy *p, const char *const *lines)
{
	static const char letters[SBX_OP_COUNT] = {
		[SBX_READ] = 'r', [SBX_MODIFY] = 'm', [SBX_EXEC] = 'x', [SBX_CONNECT] = 'c'};
	unsigned layer = POL_LAYER_MAIN;
	struct b_err err = {0};
	size_t size;

	pol_ruleset_init(&p->rules);
	for (; *lines; lines++) {
		size_t n = strcspn(*lines, "+-");

		layer += !strcmp(*lines, SB_NEXT_DOCUMENT);
		for (int op = 0; op < SBX_OP_COUNT; op++)
			if (memchr(*lines, letters[op], n))
				add(&p->rules, layer, (enum sbx_op)op, *lines + n + 1,
				    (*lines)[n] == '+');
	}
	cr_assert_eq(pol_compile(&p->rules, NULL, &p->data, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(sbx_image_open(&p->image, p->data, size, true), SBX_IMAGE_OK);
}

void sb_policy_release(struct sb_policy *p)
{
	pol_ruleset_release(&p->rules);
	free(p->data);
}

int sb_abi(void)
{
	const char *older = getenv("SBX_ABI");
	int abi = lau_landlock_abi();

	return older && atoi(older) < abi ? atoi(older) : abi;
}

static int landlock_of_floor(const struct pol_floor *floor, struct b_err *err)
{
	struct pol_ll_plan plan;
	int fd = -1;

	pol_ll_plan(floor, sb_abi(), &plan);
	if (lau_landlock_prepare(&plan, &fd, err) < 0)
		fd = -1;
	pol_ll_plan_release(&plan);
	return fd;
}

/* What the target gets: reading and executing everywhere, or everywhere but below `dir`; writing
 * to device nodes alone. The broker gets everything. */
struct grants {
	struct b_arena arena;
	struct pol_grant *v;
	size_t n, cap;
};

static void grant(struct grants *g, const char *path, unsigned rights, bool is_dir)
{
	b_grow(g->v, g->n, g->cap);
	g->v[g->n++] = (struct pol_grant){b_arena_strndup(&g->arena, path, strlen(path)), rights,
					  is_dir, false};
}

static int settle(struct grants *g, struct b_err *err)
{
	const struct pol_floor floor = {.grants = g->v, .ngrants = g->n};
	int fd = landlock_of_floor(&floor, err);

	free(g->v);
	b_arena_release(&g->arena);
	return fd;
}

/* Everything along the way to `dir`, but not `dir`. */
static void grant_around(struct grants *g, const char *dir)
{
	char at[512] = "";

	for (const char *p = dir; *p;) {
		size_t n = strcspn(p + 1, "/");
		DIR *d = opendir(*at ? at : "/");
		struct dirent *e;

		while (d && (e = readdir(d))) {
			char path[800];

			if (e->d_name[0] == '.' && strspn(e->d_name, ".") == strlen(e->d_name))
				continue;
			if (strlen(e->d_name) == n && !strncmp(e->d_name, p + 1, n))
				continue;
			snprintf(path, sizeof path, "%s/%s", at, e->d_name);
			if (e->d_type == DT_DIR || e->d_type == DT_REG)
				grant(g, path, POL_GRANT_READ | POL_GRANT_EXEC,
				      e->d_type == DT_DIR);
		}
		if (d)
			closedir(d);
		strncat(at, p, n + 1);
		p += n + 1;
	}
}

static int target_landlock(const struct sb_options *o, struct b_err *err)
{
	struct grants g = {0};

	if (o->floor)
		return landlock_of_floor(o->floor, err);
	if (o->no_read)
		grant_around(&g, o->dir);
	else
		grant(&g, "/", POL_GRANT_READ | POL_GRANT_EXEC, true);
	grant(&g, "/dev", POL_GRANT_READ | POL_GRANT_WRITE | POL_GRANT_DEV, true);
	return settle(&g, err);
}

static int broker_landlock(const struct sb_options *o, struct b_err *err)
{
	struct grants g = {0};
	struct pol_floor both;
	int fd;

	if (!o->floor) {
		grant(&g, "/", POL_GRANT_READ | POL_GRANT_EXEC | POL_GRANT_WRITE | POL_GRANT_DEV,
		      true);
		return settle(&g, err);
	}
	pol_floor_union(o->floor, &both);
	fd = landlock_of_floor(&both, err);
	pol_floor_release(&both);
	return fd;
}

static _Noreturn void give_up(const struct b_err *err)
{
	dprintf(2, "%s\n", err->msg);
	_exit(SB_BROKEN);
}

static _Noreturn void target(const struct lau_broker_plan *plan, int landlock, int sock,
			     int (*act)(void *), void *arg)
{
	struct sock_filter insn[LAU_TRAP_MAX];
	const struct lau_confine c = {.keep_caps = plan->keep_caps, .landlock_fd = landlock};
	struct b_err err = {0};
	int listener;

	if (lau_confine_caps(&c, &err) < 0 || lau_confine_landlock(&c, 0, &err) < 0)
		give_up(&err);
	listener = lau_broker_trap(insn, lau_broker_filter(plan, insn), &err);
	if (listener < 0)
		give_up(&err);
	if (lau_fd_send(sock, listener) < 0)
		_exit(SB_BROKEN);
	close(listener);
	close(sock);
	_exit(act(arg));
}

static _Noreturn void broker(const struct sb_policy *p, const struct sb_options *o,
			     int (*act)(void *), void *arg)
{
	struct b_err err = {0};
	struct lau_broker_plan plan = {
		.image = &p->image,
		.read_level = o->level,
		.traps = o->traps ? o->traps
				  : POL_TRAP_FILES | POL_TRAP_SOCKETS | POL_TRAP_EXEC |
					    POL_TRAP_TRACE | POL_TRAP_NAMESPACE |
					    pol_ll_traps(sb_abi()) | POL_TRAP_RING,
		.ring = o->ring,
		.ring_size = o->ring_size,
		.level = SBX_AUDIT_ALL,
		.tree_budget = o->tree_budget,
		.no_filter = o->no_filter || SANITIZED,
		.ring_fd = -1,
		.test_point = o->test_point,
		.lock = o->lock,
		.proceeded = o->proceeded,
		.moves = o->moves,
		.lies = o->lies,
		.apart = o->apart,
		.given = o->given,
		.grants_clean = o->marks == SB_MARKED,
		.passes_marks = o->marks != SB_UNMARKED,
	};
	int landlock, socks[2], listener;
	pid_t pid;

	/* before Linux 6.11 a listener ends when its last process is waited for, not when it exits
	 */
	signal(SIGCHLD, SIG_IGN);
	if (lau_caps_parse(o->caps ? o->caps : LAU_CAPS_DEFAULT_LIST, &plan.keep_caps, &err) < 0)
		give_up(&err);
	if (o->floor) {
		plan.read_level = o->floor->read_level;
		plan.traps = o->floor->traps;
	}
	landlock = target_landlock(o, &err);
	plan.landlock_fd = sb_abi() < POL_LL_ABI_REFER ? -1 : broker_landlock(o, &err);
	if (landlock < 0 || (plan.landlock_fd < 0 && sb_abi() >= POL_LL_ABI_REFER) ||
	    lau_broker_enter(&plan, &err) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		give_up(&err);
	pid = fork();
	if (pid == 0) {
		close(socks[0]);
		signal(SIGCHLD, SIG_DFL);
		target(&plan, landlock, socks[1], act, arg);
	}
	close(socks[1]);
	listener = lau_fd_receive(socks[0]);
	if (listener >= 0 && lau_broker_serve(&plan, listener, &err) < 0)
		give_up(&err);
	_exit(listener < 0 ? SB_BROKEN : 0);
}

struct shared_act {
	int (*act)(void *);
	void *arg;
	int out;
};

/* The broker may not wait for its child: the target says its result itself. */
static int tell_result(void *arg)
{
	struct shared_act *a = arg;
	int rc = a->act(a->arg);

	if (write(a->out, &rc, sizeof rc) != (ssize_t)sizeof rc)
		return SB_BROKEN;
	return 0;
}

static void become(uid_t uid)
{
	/* changing ids makes /proc/self root's; an exec would make it ours again */
	if (uid && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0))
		_exit(SB_BROKEN);
}

int sb_run(const struct sb_policy *p, const struct sb_options *o, int (*act)(void *), void *arg)
{
	struct shared_act shared = {act, arg, -1};
	int out[2], status, rc = SB_BROKEN;
	pid_t pid;

	cr_assert_eq(pipe(out), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		close(out[0]);
		shared.out = out[1];
		become(o->uid);
		if (o->bare)
			_exit(tell_result(&shared));
		broker(p, o, tell_result, &shared);
	}
	close(out[1]);
	if (read(out[0], &rc, sizeof rc) != (ssize_t)sizeof rc)
		rc = SB_BROKEN;
	close(out[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : rc;
}
