/* SPDX-License-Identifier: Apache-2.0 */
/* bpf.h - seccomp programs, interpreted. */
#pragma once

#include <linux/seccomp.h>
#include <stdint.h>

#include "launcher/linux/filters/filters.h"

/* Classic BPF as far as seccomp(2) allows it and bpfgraph.c uses it; anything else fails the test.
 * What the program answers, and after how many instructions (NULL: never mind). */
uint32_t bpf_run(const struct lau_filter *, const struct seccomp_data *, unsigned *out_steps);
/* The same numbers in each run; 0: any. */
uint64_t bpf_random(uint64_t below);
