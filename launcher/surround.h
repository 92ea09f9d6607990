/*
 * surround.h - may a command that only looks, by its words, be trusted to where it is? Not where
 * PATH leads to programs that the run itself may write, nor where git's configuration names
 * programs that show its differences. Reads files, runs nothing.
 */
#pragma once

#include <stdbool.h>

struct b_str;
struct pol_engine;

/* For argv with `envp`, in the working directory. False: *why gets one line. */
bool lau_surround_is_sound(struct pol_engine *, char const *const *argv, char const *const *envp,
			   struct b_str *why);
