/* SPDX-License-Identifier: Apache-2.0 */
/* stage2.c - see wrap.h and stage2.h. */
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
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/supervise/supervise.h"
#include "policy/plan/landlock.h"

/* ---- writing ---- */

static void put_number(struct b_str *out, uint64_t n)
{
	b_str_addn(out, (const char *)&n, sizeof n);
}

static void put_text(struct b_str *out, const char *s)
{
	b_str_addn(out, s, strlen(s) + 1);
}

static void put_list(struct b_str *out, char *const *v)
{
	uint64_t n = 0;

	while (v[n])
		n++;
	put_number(out, n);
	for (uint64_t i = 0; i < n; i++)
		put_text(out, v[i]);
}

static void put_landlock(struct b_str *out, const struct pol_ll_plan *plan)
{
	put_number(out, plan ? (uint64_t)plan->abi : 0);
	if (!plan)
		return;
	put_number(out, plan->handled_fs);
	put_number(out, plan->handled_net);
	put_number(out, plan->scoped);
	put_number(out, plan->nrules);
	for (size_t i = 0; i < plan->nrules; i++) {
		put_number(out, plan->rules[i].access);
		put_text(out, plan->rules[i].path);
	}
}

void lau_stage2_spec(const struct lau_wrap *w, const struct lau_spawn *sp, int hello,
		     struct b_str *out)
{
	const struct lau_confine *c = sp->confine;

	put_number(out, (uint64_t)hello);
	put_number(out, w->seccomp_flags);
	put_number(out, w->keep_caps);
	put_number(out, sp->own_group);
	put_number(out, c->nkeep_fds);
	for (size_t i = 0; i < c->nkeep_fds; i++)
		put_number(out, (uint64_t)c->keep_fds[i]);
	put_landlock(out, w->landlock);
	put_text(out, sp->program);
	put_list(out, sp->argv);
	put_list(out, sp->envp);
}

/* ---- reading ---- */

/* Beyond the end is nothing: numbers are 0, texts empty. */
struct reader {
	char *at, *end;
};

static uint64_t take_number(struct reader *r)
{
	uint64_t n = 0;

	if ((size_t)(r->end - r->at) >= sizeof n) {
		memcpy(&n, r->at, sizeof n);
		r->at += sizeof n;
	}
	return n;
}

static char *take_text(struct reader *r)
{
	char *s = r->at;
	size_t n = strnlen(s, (size_t)(r->end - s));

	if (n == (size_t)(r->end - s))
		return r->end; /* where a NUL is */
	r->at += n + 1;
	return s;
}

/* Of at most as many as there are bytes. */
static uint64_t take_count(struct reader *r)
{
	uint64_t n = take_number(r);

	return n <= (uint64_t)(r->end - r->at) ? n : 0;
}

static char **take_list(struct reader *r)
{
	uint64_t n = take_count(r);
	char **v = b_calloc(n + 1, sizeof *v);

	for (uint64_t i = 0; i < n; i++)
		v[i] = take_text(r);
	return v;
}

static void take_landlock(struct reader *r, struct pol_ll_plan *out)
{
	*out = (struct pol_ll_plan){.abi = (int)take_number(r)};
	if (out->abi == 0)
		return;
	out->handled_fs = take_number(r);
	out->handled_net = take_number(r);
	out->scoped = take_number(r);
	out->nrules = take_count(r);
	out->rules = b_arena_alloc(&out->arena, (out->nrules + 1) * sizeof *out->rules);
	for (size_t i = 0; i < out->nrules; i++) {
		out->rules[i].access = take_number(r);
		out->rules[i].path = take_text(r);
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
	char **argv, **envp;
	int hello;
};

static void take_all(struct reader *r, struct second *s)
{
	int *keep;

	s->hello = (int)take_number(r);
	s->confine = (struct lau_confine){.landlock_fd = -1, .pipes = &s->pipes};
	s->sp = (struct lau_spawn){.confine = &s->confine};
	(void)lau_seccomp_prepare((unsigned)take_number(r), &s->confine.bpf, &s->confine.bpf_len,
				  &(struct b_err){0});
	s->confine.keep_caps = take_number(r);
	s->sp.own_group = take_number(r);
	s->confine.nkeep_fds = take_count(r);
	keep = b_calloc(s->confine.nkeep_fds + 1, sizeof *keep);
	for (size_t i = 0; i < s->confine.nkeep_fds; i++)
		keep[i] = (int)take_number(r);
	s->confine.keep_fds = keep;
	take_landlock(r, &s->landlock);
	s->sp.program = take_text(r);
	s->argv = take_list(r);
	s->envp = take_list(r);
	s->sp.argv = s->argv;
	s->sp.envp = s->envp;
}

/* Returns only when something failed. */
static void become(struct second *s, struct lau_stage2_report *out)
{
	char **shell_argv = lau_spawn_shell(&s->sp);

	lau_pipes_find(&s->pipes);
	out->step = LAU_SPAWN_CONFINE;
	if (lau_spawn_place(&s->sp, &out->err) < 0)
		return;
	if (!s->confine.bpf) {
		b_fail(&out->err, B_FLOOR, 0, "the second stage was not told what to do");
		return;
	}
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
	struct reader r;
	unsigned long long fd;

	if (argc != 3 || b_parse_u64(argv[2], INT_MAX, &fd) < 0 || read_spec((int)fd, &text) < 0)
		return LAU_STATUS_OURS;
	r = (struct reader){text.s, text.s + text.len};
	take_all(&r, &s);
	/* gone with the exec: to whoever waits that is the news */
	(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(s.hello, F_SETFD, FD_CLOEXEC);
	if (b_write_all(s.hello, "", 1) < 0)
		return LAU_STATUS_OURS;
	become(&s, &report);
	(void)b_write_all(s.hello, (const char *)&report, sizeof report);
	return LAU_STATUS_OURS;
}
