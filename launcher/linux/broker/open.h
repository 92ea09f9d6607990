/* open.h - one open(2), shared by open.c and how.c. Private to launcher/linux/broker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct br_call;

struct br_open_request {
	struct br_call *c;
	unsigned flags;
	mode_t mode;
	uint64_t resolve; /* of struct open_how */
	bool has_slash;	  /* behind a path without symlinks */
};

/* Reads and checks struct open_how as the kernel does, to flags, mode and resolve: 0 or -errno. */
int br_read_how(struct br_call *);
/* br_find_object() under the caller's RESOLVE_* flags. */
int br_find_restricted(struct br_open_request *);
