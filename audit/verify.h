/* verify.h - does the chain of a log hold? Pure but for reading the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

struct b_err;
struct aud_run;

struct aud_verify {
	uint64_t lines;
	bool is_unchained;	 /* preload-only: nobody chains, and nothing can be said */
	uint64_t broken_line;	 /* the first whose `prev` or `seq` is wrong; 0 = none */
	const char *why;	 /* static text, when broken_line */
	char hash[B_SHA256_HEX]; /* of the last line */
	bool has_final;		 /* run.json names the hash of the last line */
	bool final_matches;
};

int aud_verify(const struct aud_run *, struct aud_verify *out, struct b_err *err);
