#include "policy/back/syscalls.h"

static const struct pol_syscall syscalls[] = {
#define X(name_, x86_64_, aarch64_)                                                                \
	{#name_, {[POL_X86_64] = (x86_64_), [POL_AARCH64] = (aarch64_)}},
	POL_SYSCALLS(X)
#undef X
};

const struct pol_syscall *pol_syscalls(size_t *out_n)
{
	*out_n = sizeof syscalls / sizeof *syscalls;
	return syscalls;
}
