/*
 * envnames.h - which variables of an environment say what: by their names alone. Pure.
 */
#pragma once

#include <stdbool.h>

/* Holds a login, as caliban's scrub_secrets judges: KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL
 * anywhere in it, whatever the case, or one of a short list. Rather too many than too few:
 * KEYBOARD counts. */
bool lau_env_is_login(const char *name);
/* Makes programs load or run something, or obey another configuration: the loader (LD_*, DYLD_*),
 * interpreters (NODE_OPTIONS, PYTHONSTARTUP, BASH_ENV ...), git, but for who commits and how it
 * asks. */
bool lau_env_is_hook(const char *name);
/* What a program may expect of any caller: PATH, HOME, who, the language, the terminal. */
bool lau_env_is_usual(const char *name);
/* PATH, HOME, LANG. */
bool lau_env_is_least(const char *name);
/* The whole name, in which each `*` of the pattern stands for any part, empty ones as well. */
bool lau_env_matches(const char *pattern, const char *name);
