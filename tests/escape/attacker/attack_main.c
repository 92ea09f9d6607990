/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack_main.c - main() of the attacker (attack.h).
 *
 *	attacker [options]	one policy for some seconds: findings to standard output
 *	attacker [options] --replay FILE	a program again
 *	attacker inside | victim FD | unseen DIR SEED	by itself
 *
 * Exit status: 0 nothing found, 1 a finding, 2 it could not work.
 */
#include "attack.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#define CORPUS_MAX  2000
#define SESSION_SEC 12

int ak_victim(int out);

static struct ak_prog *corpus;
static unsigned ncorpus;
static uint64_t totals[AK_CALLS][3];
static unsigned findings;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the corpus: programs that reached new lines ---- */

static void load_corpus(const char *dir)
{
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)) && ncorpus < CORPUS_MAX) {
		char path[512];
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		f = fopen(path, "re");
		while (f && ncorpus < CORPUS_MAX && ak_parse(f, &corpus[ncorpus]))
			ncorpus++;
		if (f)
			(void)fclose(f);
	}
	if (d)
		closedir(d);
}

static void keep(const struct ak_options *o, const struct ak_prog *p)
{
	char path[512];
	FILE *f;

	if (ncorpus < CORPUS_MAX)
		corpus[ncorpus++] = *p;
	if (!o->corpus_dir)
		return;
	snprintf(path, sizeof path, "%s/%016" PRIx64, o->corpus_dir, p->seed);
	f = fopen(path, "we");
	if (!f)
		return;
	ak_print(f, p);
	(void)fclose(f);
}

static void next_program(struct ak_prog *p, struct ak_rng *r)
{
	uint64_t seed = (uint64_t)ak_rnd(r, 0xffffffffu) << 32 | ak_rnd(r, 0xffffffffu);

	if (!ncorpus || ak_rnd(r, 3) == 0) {
		ak_generate(p, seed);
		return;
	}
	*p = corpus[ak_rnd(r, ncorpus)];
	ak_mutate(p, ncorpus > 1 ? &corpus[ak_rnd(r, ncorpus)] : NULL, seed);
}

/* ---- findings ---- */

static void report(const struct ak_options *o, const struct ak_prog *p,
		   const struct ak_outcome *out)
{
	struct ak_prog least = *p;
	enum ak_find kind = out->found[0].kind;
	char path[512];
	FILE *f;

	printf("FOUND %s (%s, isolate %s, uid %u, %s)\n", ak_find_names[kind],
	       ak_policy_names[o->policy], o->isolate, (unsigned)getuid(),
	       ak_flavour_names[o->flavour]);
	for (unsigned i = 0; i < out->nfound; i++)
		printf("  %s at op %d: %s\n", ak_find_names[out->found[i].kind],
		       out->found[i].op == AK_AFTERWARDS ? -1 : out->found[i].op,
		       out->found[i].text);
	ak_print(stdout, p);
	(void)fflush(stdout);
	if (findings++ < 4 && !o->first) {
		double began = now();

		ak_minimise(o, &least, kind);
		printf("  cut down in %.0f s to:\n", now() - began);
		ak_print(stdout, &least);
	}
	if (!o->out_dir)
		return;
	snprintf(path, sizeof path, "%s/%s-%s-%s-%u-%016" PRIx64, o->out_dir, ak_find_names[kind],
		 ak_policy_names[o->policy], o->isolate, (unsigned)getuid(), p->seed);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "# %s: %s\n# options: --policy %s --isolate %s --flavour %u\n",
		ak_find_names[kind], out->found[0].text, ak_policy_names[o->policy], o->isolate,
		o->flavour);
	ak_print(f, &least);
	if (least.n != p->n) {
		fprintf(f, "# as found:\n");
		ak_print(f, p);
	}
	(void)fclose(f);
}

static bool counts(const struct ak_options *o, const struct ak_prog *p,
		   const struct ak_outcome *out)
{
	for (unsigned i = 0; i < out->nfound; i++)
		if (!o->first && out->found[i].kind == AK_F_NOFD && p->flags & AK_FREEZE)
			continue; /* stopped-broker */
		else if (!o->first || strstr(o->first, ak_find_names[out->found[i].kind]))
			return true;
	return false;
}

static void add_counts(const struct ak_outcome *out)
{
	for (unsigned i = 0; i < ak_ncalls; i++)
		for (unsigned k = 0; k < 3; k++)
			totals[i][k] += out->count[i][k];
}

static void print_counts(void)
{
	for (unsigned i = 0; i < ak_ncalls; i++)
		printf("CALL %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", ak_calls[i].name,
		       totals[i][0], totals[i][1], totals[i][2]);
}

/* ---- the run ---- */

/* The sandbox is gone: a finding when it says that it failed itself. 125: the broker or the
 * launcher; or one of the signals that nobody inside sends. */
static bool is_failure(int status)
{
	static const int signals[] = {SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGSYS};

	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		if (status == 128 + signals[i])
			return true;
	return status == 125;
}

static void report_record(void *ctx, const struct ak_prog *p, const struct ak_outcome *out)
{
	const struct ak_options *o = ctx;

	if (counts(o, p, out))
		report(o, p, out);
}

static int end_session(struct ak_options *o, struct ak_session *s, const struct ak_prog *last,
		       bool is_lost, struct ak_outcome *out)
{
	int status = ak_session_end(s, report_record, o);

	if (is_lost) {
		printf("LOST with status %d after\n", status);
		ak_print(stdout, last);
	}
	if (!is_failure(status) || o->first)
		return 0;
	out->nfound = 0;
	ak_world_note(out, AK_F_DIED, "the sandbox ended with status %d", status);
	report(o, last, out);
	return 1;
}

static int attack(struct ak_options *o)
{
	double until = now() + o->seconds, renew = 0;
	struct ak_rng r = {o->seed};
	struct ak_session *s = NULL;
	struct ak_outcome *out = calloc(1, sizeof *out);
	struct ak_prog p;
	uint64_t programs = 0, lost = 0;
	unsigned lines, cursor = 0, sessions = 0;
	const unsigned known = ncorpus;

	while (now() < until && !(o->first && findings)) {
		if (!s) {
			o->flavour = (unsigned)((o->seed + sessions++) % AK_FLAVOURS);
			s = ak_session_start(o);
			renew = now() + SESSION_SEC;
		}
		if (cursor < known)
			p = corpus[cursor++]; /* what is known first */
		else
			next_program(&p, &r);
		programs++;
		if (ak_session_run(s, &p, out, &lines) < 0) {
			lost++;
			end_session(o, s, &p, true, out);
			s = NULL;
			continue;
		}
		add_counts(out);
		if (counts(o, &p, out))
			report(o, &p, out);
		if (lines && cursor >= known)
			keep(o, &p);
		if (now() > renew) {
			end_session(o, s, &p, false, out);
			s = NULL;
		}
	}
	if (s)
		end_session(o, s, &p, false, out);
	if (o->seen)
		ak_seen_save(o->seen);
	print_counts();
	printf("RAN %s isolate %s uid %u seed %" PRIu64 ": %" PRIu64
	       " programs, %u findings, %" PRIu64 " sandboxes lost, %u kept\n",
	       ak_policy_names[o->policy], o->isolate, (unsigned)getuid(), o->seed, programs,
	       findings, lost, ncorpus);
	free(out);
	return findings ? 1 : 0;
}

static void print_record(void *ctx, const struct ak_prog *p, const struct ak_outcome *out)
{
	(void)p;
	*(unsigned *)ctx += 1;
	for (unsigned k = 0; k < out->nfound; k++)
		printf("record: %s: %s\n", ak_find_names[out->found[k].kind], out->found[k].text);
}

static int replay(const struct ak_options *o, const char *path, unsigned tries)
{
	struct ak_session *s = ak_session_start(o);
	struct ak_outcome *out = calloc(1, sizeof *out);
	FILE *f = fopen(path, "re");
	struct ak_prog p;
	unsigned lines, found = 0;

	if (!f || !ak_parse(f, &p)) {
		fprintf(stderr, "attacker: %s: not a program\n", path);
		return 2;
	}
	(void)fclose(f);
	ak_print(stdout, &p);
	for (unsigned i = 0; i < tries; i++) {
		if (ak_session_run(s, &p, out, &lines) < 0) {
			printf("try %u: the sandbox is gone: status %d\n", i,
			       ak_session_end(s, print_record, &found));
			s = ak_session_start(o);
			continue;
		}
		found += out->nfound > 0;
		for (unsigned k = 0; k < out->nfound; k++)
			printf("try %u: %s at op %d: %s\n", i, ak_find_names[out->found[k].kind],
			       out->found[k].op == AK_AFTERWARDS ? -1 : out->found[k].op,
			       out->found[k].text);
	}
	add_counts(out);
	for (unsigned i = 0; i < p.n; i++)
		printf("%s: %" PRIu64 " done, %" PRIu64 " refused, %" PRIu64 " failed\n",
		       ak_calls[p.op[i].call].name, totals[p.op[i].call][0],
		       totals[p.op[i].call][1], totals[p.op[i].call][2]);
	ak_session_end(s, print_record, &found);
	free(out);
	return found > 0;
}

static bool policy_by_name(const char *name, enum ak_policy *out)
{
	for (unsigned i = 0; i < AK_POLICIES; i++)
		if (!strcmp(name, ak_policy_names[i])) {
			*out = (enum ak_policy)i;
			return true;
		}
	return false;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: attacker --sbx PROGRAM [--policy NAME] [--seed N]\n"
		"                [--isolate auto|none|old|older|parent] [--mkhost PROGRAM]\n"
		"                [--seconds N] [--cov DIR] [--corpus DIR] [--keep DIR] [--out "
		"DIR]\n"
		"                [--verbose] [--fold foldfs.py] [--first KINDS] [--replay FILE "
		"[--tries "
		"N]] | "
		"--exemptions\n");
	return 2;
}

static int list_exemptions(void)
{
	for (unsigned i = 0; i < ak_nexemptions; i++)
		printf("%-20s %s\n", ak_exemptions[i].name, ak_exemptions[i].reason);
	return 0;
}

struct request {
	struct ak_options o;
	const char *from, *file;
	unsigned tries;
	bool exemptions;
};

static int take_option(struct request *r, int c)
{
	switch (c) {
	case 's': /* the run has its own working directory */
		r->o.sbx = realpath(optarg, NULL);
		if (!r->o.sbx)
			fprintf(stderr, "attacker: --sbx %s: %s\n", optarg, strerror(errno));
		return r->o.sbx ? 0 : -1;
	case 'p':
		return policy_by_name(optarg, &r->o.policy) ? 0 : -1;
	case 'i':
		r->o.isolate = optarg;
		return 0;
	case 'n':
		r->o.seed = strtoull(optarg, NULL, 0);
		return 0;
	case 't':
		r->o.seconds = atof(optarg);
		return 0;
	case 'c':
		r->o.cov_dir = optarg;
		return 0;
	case 'k':
		r->from = optarg;
		return 0;
	case 'K':
		r->o.corpus_dir = optarg;
		return 0;
	case 'o':
		r->o.out_dir = optarg;
		return 0;
	case 'v':
		r->o.verbose = true;
		return 0;
	case 'F':
		r->o.first = optarg;
		return 0;
	case 'D':
		r->o.fold = optarg;
		return 0;
	case 'M':
		r->o.mkhost = optarg;
		return 0;
	case 'S':
		r->o.seen = optarg;
		return 0;
	case 'V':
		r->o.flavour = (unsigned)atoi(optarg) % AK_FLAVOURS;
		return 0;
	case 'r':
		r->file = optarg;
		return 0;
	case 'T':
		r->tries = (unsigned)atoi(optarg);
		return 0;
	default:
		r->exemptions = c == 'e';
		return c == 'e' ? 0 : -1;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"sbx", 1, 0, 's'},	   {"policy", 1, 0, 'p'},  {"isolate", 1, 0, 'i'},
		{"seed", 1, 0, 'n'},	   {"seconds", 1, 0, 't'}, {"cov", 1, 0, 'c'},
		{"corpus", 1, 0, 'k'},	   {"keep", 1, 0, 'K'},	   {"out", 1, 0, 'o'},
		{"verbose", 0, 0, 'v'},

		{"flavour", 1, 0, 'V'},	   {"fold", 1, 0, 'D'},	   {"seen", 1, 0, 'S'},
		{"first", 1, 0, 'F'},	   {"replay", 1, 0, 'r'},  {"tries", 1, 0, 'T'},
		{"exemptions", 0, 0, 'e'}, {"mkhost", 1, 0, 'M'},  {0}};
	struct request r = {.o = {.isolate = "auto", .seconds = 10, .seed = 1}, .tries = 1};
	const struct ak_isolation *host;
	int c;

	if (argc > 1 && !strcmp(argv[1], "inside"))
		return ak_inside();
	if (argc > 7 && !strcmp(argv[1], "reach"))
		return ak_reach(argv + 2);
	if (argc > 3 && !strcmp(argv[1], "unseen"))
		return ak_unseen(argv[2], strtoull(argv[3], NULL, 10));
	if (argc > 2 && !strcmp(argv[1], "victim"))
		return ak_victim(atoi(argv[2]));
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take_option(&r, c) < 0)
			return usage();
	if (r.exemptions)
		return list_exemptions();
	host = ak_isolation(r.o.isolate);
	if (!r.o.sbx || !host || (host->abi && !r.o.mkhost))
		return usage();
	ak_world_has_numbers = !host->has_pid_ns;
	ak_world_has_rules = r.o.policy == AK_ENDPOINTS;
	ak_world_folds = r.o.fold != NULL;
	corpus = calloc(CORPUS_MAX, sizeof *corpus);
	if (!corpus)
		return 2;
	if (r.file)
		return replay(&r.o, r.file, r.tries);
	load_corpus(r.from);
	if (r.o.seen)
		ak_seen_load(r.o.seen);
	return attack(&r.o);
}
