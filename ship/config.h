/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the destination, the credentials and the settings, checked before anything is sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct b_str;

#define SHIP_URL_MAX 2048

/* Two tables; rows are those of row.h. */
enum ship_table { SHIP_EVENTS, SHIP_RUNS, SHIP_TABLE_COUNT };

enum ship_coding { SHIP_GZIP, SHIP_ZSTD, SHIP_PLAIN };

/* What proves who sends. Never from the command line, which every process of the host may read. */
struct ship_secret {
	char user[256], password[1024], token[4096];
};

struct ship_config {
	const char *to, *name, *database, *host;
	const char *ca, *cert, *key; /* files, NULL = the system's; none */
	const char *credentials;     /* file, NULL = the environment's */
	bool allow_http, is_following;
	int coding;	      /* enum ship_coding */
	uint64_t interval_ms; /* between two looks of --follow */
	uint64_t retry_ms;    /* how long one that does not follow tries again */
	uint64_t timeout_ms;  /* of one request */
	struct ship_secret secret;
};

/* B_USAGE: an address that is none, names a user or password, or sends in clear unasked. */
int ship_config_check(const struct ship_config *, struct b_err *err);
/* The text of the file `path`. Pure. B_USAGE: another line than user=, password=, token=, #. */
int ship_secret_read(const char *text, size_t n, const char *path, struct ship_secret *out,
		     struct b_err *err);
/* Fills `secret`. B_USAGE: a file that others may read, or with what is no credential. */
int ship_config_secret(struct ship_config *, struct b_err *err);
void ship_config_forget(struct ship_config *);
/* The address of inserts into a table. Pure. */
void ship_config_url(const struct ship_config *, enum ship_table, struct b_str *out);
const char *ship_table_name(enum ship_table);
