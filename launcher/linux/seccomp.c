#include "launcher/confine.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/linux/filters.h"

int lau_seccomp_prepare(unsigned flags, const void **out_bpf, size_t *out_len, struct b_err *err)
{
	if (flags >= lau_filters_n)
		return b_fail(err, B_FLOOR, 0, "seccomp: no filter for flags %#x", flags);
	*out_bpf = lau_filters[flags].prog;
	*out_len = lau_filters[flags].len;
	return 0;
}

/* Needs no_new_privs (step 3). Last, because the filter refuses unshare, socket and, once
 * installed, nothing of it can be taken back. */
int lau_confine_seccomp(const struct lau_confine *c, int lost, struct b_err *err)
{
	const void *bpf = c->bpf;
	size_t len = c->bpf_len;
	struct sock_fprog prog;

	if (lost & LAU_NET_FILTERED)
		bpf = c->bpf_no_inet, len = c->bpf_no_inet_len;
	else if (lost & LAU_NO_IPC)
		bpf = c->bpf_no_ipc, len = c->bpf_no_ipc_len;
	if (!bpf)
		return 0;
	prog = (struct sock_fprog){.len = (unsigned short)len};
	/* The kernel's struct lacks a const; it only copies. */
	memcpy(&prog.filter, &bpf, sizeof bpf);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return b_fail(err, B_FLOOR, errno,
			      "seccomp: %s: the kernel needs CONFIG_SECCOMP_FILTER",
			      strerror(errno));
	return 0;
}
