/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/bpf.h"

#include <criterion/criterion.h>
#include <string.h>

uint32_t bpf_run(const struct lau_filter *f, const struct seccomp_data *data, unsigned *out_steps)
{
	uint32_t acc = 0;
	unsigned steps = 0;

	for (size_t pc = 0; pc < f->len; pc++, steps++) {
		const struct sock_filter *i = &f->prog[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			cr_assert_leq(i->k, sizeof *data - 4);
			memcpy(&acc, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += acc == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += acc >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += acc > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += acc & i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			if (out_steps)
				*out_steps = steps;
			return i->k;
		default:
			cr_assert_fail("instruction %#x", i->code);
		}
	}
	cr_assert_fail("ran off the end");
	return 0;
}

uint64_t bpf_random(uint64_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? state % below : state;
}
