/*
 * account.h - the user database, asked by getent(1) and not by getpwuid(3): what NSS loads (LDAP,
 * systemd) stays out of our processes, and the launcher can be linked statically, which saves a
 * fifth of a millisecond of each start. It is asked only for users that neither the environment
 * nor /etc/passwd knows.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct b_str;

/* Appends the absolute path of the user's home directory. False: nobody knows one. */
bool b_account_home(uid_t uid, struct b_str *out);
/* The home in a line of passwd(5), which it cuts into pieces; NULL = no sound one. */
char *b_account_home_of(char *line);
