/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - what a hook of an agent answers: the agent's tool call with its command put under
 * sbx-launch. Pure.
 *
 *	if (ad_hook_answer(agent, text, len, &words, &answer, &err) < 0)
 *		exit with AD_HOOK_BLOCKS
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct ad_agent;
struct b_err;
struct b_strlist;

/* The status with which a hook refuses the call. Any other that is not 0 lets the agent go on. */
#define AD_HOOK_BLOCKS 2
#define AD_HOOK_MAX    (8u << 20) /* bytes of the input */

/* `launcher`: the words before the command, "/usr/bin/sbx-launch", options, "--", "bash", "-c".
 * *out stays empty for a tool that runs no command. B_FORMAT: the input is not understood. */
int ad_hook_answer(const struct ad_agent *, const char *text, size_t len,
		   const struct b_strlist *launcher, struct b_str *out, struct b_err *err);

/* A word as sh(1) reads it. */
void ad_quote(struct b_str *out, const char *word);
