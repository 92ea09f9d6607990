/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - the user database, asked by getent(1) and not by getpwuid(3): what NSS loads (LDAP,
 * systemd) stays out of our processes, and the launcher can be linked statically, which saves a
 * fifth of a millisecond of each start.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct b_str;

/* Appends the absolute path of the user's home directory. False: there is none. If /etc/passwd is
 * the whole database (nsswitch.conf(5)), getent(1) is not run. */
bool b_account_home(uid_t uid, struct b_str *out);
/* Appends the line of passwd(5) or group(5) with this name or number. False: there is none. */
bool b_account_line(const char *database, const char *key, struct b_str *out);
/* Whether this nsswitch.conf(5) names another source for passwd than the file. Writes NULs into the
 * text. */
bool b_account_asks_others(char *nsswitch);
/* The home in a line of passwd(5); NULL if the line is malformed or of another user. Writes NULs
 * into the line.
 */
char *b_account_home_of(char *line, uid_t uid);
