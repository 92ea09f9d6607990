/* SPDX-License-Identifier: Apache-2.0 */
/* stage2.c - see wrap.h. */
#include "launcher/linux/bwrap/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pack.h"
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/supervise/supervise.h"
#include "policy/plan/landlock.h"

/* ---- writing ---- */

static void put_landlock(struct b_str *out, const struct pol_ll_plan *plan)
{
	b_pack_u64(out, plan ? (uint64_t)plan->abi : 0);
	if (!plan)
		return;
	b_pack_u64(out, plan->handled_fs);
	b_pack_u64(out, plan->handled_net);
	b_pack_u64(out, plan->scoped);
	b_pack_u64(out, plan->nrules);
	for (size_t i = 0; i < plan->nrules; i++) {
		b_pack_u64(out, plan->rules[i].access);
		b_pack_text(out, plan->rules[i].path);
	}
}

void lau_stage2_spec(const struct lau_wrap *w, const struct lau_spawn *sp, int hello,
		     struct b_str *out)
{
	const struct lau_confine *c = sp->confine;

	b_pack_u64(out, (uint64_t)hello);
	b_pack_u64(out, w->seccomp_flags);
	b_pack_u64(out, w->keep_caps);
	b_pack_u64(out, sp->own_group);
	b_pack_u64(out, c->nkeep_fds);
	for (size_t i = 0; i < c->nkeep_fds; i++)
		b_pack_u64(out, (uint64_t)c->keep_fds[i]);
	put_landlock(out, w->landlock);
	b_pack_text(out, sp->program);
	b_pack_list(out, (char const *const *)sp->argv);
	b_pack_list(out, (char const *const *)sp->envp);
}

/* ---- reading ---- */

static void take_landlock(struct b_unpack *in, struct pol_ll_plan *out)
{
	*out = (struct pol_ll_plan){.abi = (int)b_unpack_u64(in, INT_MAX)};
	if (out->abi == 0)
		return;
	out->handled_fs = b_unpack_u64(in, UINT64_MAX);
	out->handled_net = b_unpack_u64(in, UINT64_MAX);
	out->scoped = b_unpack_u64(in, UINT64_MAX);
	out->nrules = b_unpack_count(in, 2 * sizeof(uint64_t));
	out->rules = b_arena_alloc(&out->arena, (out->nrules + 1) * sizeof *out->rules);
	for (size_t i = 0; i < out->nrules; i++) {
		out->rules[i].access = b_unpack_u64(in, UINT64_MAX);
		out->rules[i].path = b_unpack_text(in);
	}
}

static int read_spec(int fd, struct b_str *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > INT_MAX ||
	    lseek(fd, 0, SEEK_SET) < 0 ||
	    b_read_full(fd, b_str_room(out, (size_t)st.st_size + 1), (size_t)st.st_size) !=
		    st.st_size)
		return -1;
	b_str_advance(out, (size_t)st.st_size);
	return 0;
}

/* ---- the steps that are left ---- */

struct second {
	struct lau_confine confine;
	struct pol_ll_plan landlock;
	struct lau_pipes pipes;
	struct lau_spawn sp;
	unsigned seccomp_flags;
	int hello;
};

/* False: it is not what the first stage writes. Only `hello` is good then, where it is not -1. */
static bool take_all(struct b_unpack *in, struct second *s)
{
	int *keep;

	s->hello = (int)b_unpack_u64(in, INT_MAX);
	if (in->is_bad)
		s->hello = -1;
	s->confine = (struct lau_confine){.landlock_fd = -1, .pipes = &s->pipes};
	s->sp = (struct lau_spawn){.confine = &s->confine};
	s->seccomp_flags = (unsigned)b_unpack_u64(in, UINT_MAX);
	s->confine.keep_caps = b_unpack_u64(in, UINT64_MAX);
	s->sp.own_group = b_unpack_u64(in, true);
	s->confine.nkeep_fds = b_unpack_count(in, sizeof(uint64_t));
	keep = b_arena_alloc(in->arena, (s->confine.nkeep_fds + 1) * sizeof *keep);
	for (size_t i = 0; i < s->confine.nkeep_fds; i++)
		keep[i] = (int)b_unpack_u64(in, INT_MAX);
	s->confine.keep_fds = keep;
	take_landlock(in, &s->landlock);
	s->sp.program = b_unpack_text(in);
	s->sp.argv = b_unpack_list(in);
	s->sp.envp = b_unpack_list(in);
	return b_unpack_done(in);
}

/* Returns only when something failed. */
static void become(struct second *s, struct lau_stage2_report *out)
{
	char **shell_argv = lau_spawn_shell(&s->sp);

	lau_pipes_find(&s->pipes);
	out->step = LAU_SPAWN_CONFINE;
	if (lau_spawn_place(&s->sp, &out->err) < 0)
		return;
	if (lau_seccomp_prepare(&s->landlock.arena, s->seccomp_flags, &s->confine.bpf,
				&s->confine.bpf_len, &out->err) < 0)
		return;
	if (s->landlock.abi > 0 &&
	    lau_landlock_prepare(&s->landlock, &s->confine.landlock_fd, &out->err) < 0)
		return;
	if (lau_confine_apply_in(&s->confine, 0, &out->err) < 0)
		return;
	out->step = LAU_SPAWN_EXEC;
	(void)lau_spawn_exec(&s->sp, shell_argv, &out->err);
}

bool lau_stage2_asked(int argc, char *const *argv)
{
	return argc == 3 && strcmp(argv[1], LAU_STAGE2) == 0;
}

int lau_stage2(int argc, char **argv)
{
	struct lau_stage2_report report = {0};
	struct b_str text = {0};
	struct second s = {0};
	struct b_arena arena = {0};
	struct b_unpack in;
	unsigned long long fd;
	bool is_whole;

	if (argc != 3 || b_parse_u64(argv[2], INT_MAX, &fd) < 0 || read_spec((int)fd, &text) < 0)
		return LAU_STATUS_OURS;
	in = b_unpack_from(&arena, text.s, text.len);
	is_whole = take_all(&in, &s);
	if (s.hello < 0)
		return LAU_STATUS_OURS;
	/* gone with the exec: to whoever waits that is the news */
	(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(s.hello, F_SETFD, FD_CLOEXEC);
	if (b_write_all(s.hello, "", 1) < 0)
		return LAU_STATUS_OURS;
	if (is_whole)
		become(&s, &report);
	else
		b_fail(&report.err, B_FLOOR, 0, "the plan of the second stage is damaged");
	(void)b_write_all(s.hello, (const char *)&report, sizeof report);
	return LAU_STATUS_OURS;
}
