/*
 * gen-filters.c - build-time program: the rows of policy/back/seccomp.c compiled by libseccomp,
 * one BPF program per combination of flags, written as C arrays to standard output.
 *
 * At build time because a launch has about a millisecond: building the filter would take a
 * tenth of it and a shared library more to load.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/linux/uapi_compat.h"
#include "policy/back/seccomp.h"

#define MAX_BYTES (BPF_MAXINSNS * sizeof(struct sock_filter))

struct program {
	struct sock_filter insn[BPF_MAXINSNS];
	size_t n;
};

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this machine yet"
#endif

#define X32_BIT 0x40000000u

/*
 * In front of libseccomp's program, because it would kill x32 callers, and a runtime that only
 * probes for x32 should see a kernel without it. A foreign architecture (int 0x80 is one)
 * never continues: its numbers mean other calls. -1 is what a tracer sets to skip a call.
 */
static const struct sock_filter prologue[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
#if defined(__x86_64__)
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 2),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffffu, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
};

static _Noreturn void die(const char *what, int err)
{
	fprintf(stderr, "gen-filters: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static int call_number(const char *name)
{
	static const struct {
		const char *name;
		int nr;
	} newer[] = {
#define X(call, number) {call, number},
		LAU_NEW_CALLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
		if (!strcmp(newer[i].name, name))
			return newer[i].nr;
	return seccomp_syscall_resolve_name(name);
}

static struct scmp_arg_cmp compare(const struct pol_sc_arg *arg)
{
	struct scmp_arg_cmp cmp = {.arg = arg->index};

	switch (arg->cmp) {
	case '!':
		cmp.op = SCMP_CMP_NE;
		cmp.datum_a = arg->value;
		return cmp;
	case '>':
		cmp.op = SCMP_CMP_GE;
		cmp.datum_a = arg->value;
		return cmp;
	case '&':
		cmp.op = SCMP_CMP_MASKED_EQ;
		cmp.datum_a = arg->mask;
		cmp.datum_b = arg->value;
		return cmp;
	}
	die("unknown comparison in the table", EINVAL);
}

static void add_rule(scmp_filter_ctx ctx, const struct pol_sc_rule *rule)
{
	struct scmp_arg_cmp args[3];
	int nr = call_number(rule->call);
	int rc;

	if (nr == __NR_SCMP_ERROR)
		die(rule->call, ENOSYS);
	if (nr < 0) /* libseccomp's mark for a call this machine does not have */
		return;
	for (unsigned i = 0; i < rule->nargs; i++)
		args[i] = compare(&rule->arg[i]);
	rc = seccomp_rule_add_exact_array(ctx, SCMP_ACT_ERRNO((uint32_t)rule->err), nr, rule->nargs,
					  args);
	if (rc < 0)
		die(rule->call, rc);
}

/* libseccomp only exports to a descriptor: a temporary file takes it. */
static void export(scmp_filter_ctx ctx, struct program *out)
{
	FILE *tmp = tmpfile();
	size_t bytes;

	if (!tmp)
		die("tmpfile", errno);
	if (seccomp_export_bpf(ctx, fileno(tmp)) < 0)
		die("seccomp_export_bpf", EINVAL);
	rewind(tmp);
	memcpy(out->insn, prologue, sizeof prologue);
	out->n = sizeof prologue / sizeof *prologue;
	bytes = fread(out->insn + out->n, 1, MAX_BYTES - sizeof prologue, tmp);
	if (ferror(tmp) || !feof(tmp) || !bytes)
		die("filter too long", E2BIG);
	out->n += bytes / sizeof *out->insn;
	fclose(tmp);
}

static void build(unsigned flags, struct program *out)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	const struct pol_sc_rule *rules;
	size_t n;
	int rc;

	if (!ctx)
		die("seccomp_init", ENOMEM);
	/* A binary tree over call numbers: open and ioctl, whose arguments are tested and which
	 * the kernel therefore cannot answer from its bitmap, cost 7 comparisons, not 100. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!rc)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc < 0)
		die("seccomp_attr_set", rc);
	rules = pol_sc_rules(&n);
	for (size_t i = 0; i < n; i++)
		if (pol_sc_applies(&rules[i], flags))
			add_rule(ctx, &rules[i]);
	export(ctx, out);
	seccomp_release(ctx);
}

static void print_program(unsigned flags, const struct program *p)
{
	printf("static const struct sock_filter prog_%u[] = {", flags);
	for (size_t i = 0; i < p->n; i++)
		printf("%s{ 0x%x, %u, %u, 0x%x },", i % 4 ? " " : "\n\t", p->insn[i].code,
		       p->insn[i].jt, p->insn[i].jf, p->insn[i].k);
	printf("\n};\n");
}

int main(void)
{
	static struct program all[POL_SC_FLAGS];
	unsigned same[POL_SC_FLAGS];

	printf("/* Made by gen-filters from policy/back/seccomp.c. */\n"
	       "#include \"launcher/linux/filters.h\"\n\n");
	for (unsigned f = 0; f < POL_SC_FLAGS; f++) {
		build(f, &all[f]);
		for (same[f] = 0; same[f] < f; same[f]++)
			if (all[same[f]].n == all[f].n &&
			    !memcmp(all[same[f]].insn, all[f].insn, all[f].n * sizeof *all[f].insn))
				break;
		if (same[f] == f)
			print_program(f, &all[f]);
	}
	printf("\nconst struct lau_filter lau_filters[] = {\n");
	for (unsigned f = 0; f < POL_SC_FLAGS; f++)
		printf("\t[%u] = { prog_%u, %zu },\n", f, same[f], all[f].n);
	printf("};\nconst unsigned lau_filters_n = %u;\n", POL_SC_FLAGS);
	return fflush(stdout) || ferror(stdout);
}
