/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns.h - questions to the run's resolver and their answers (RFC 1035, 6891, 8914). Pure.
 *
 *	if (egr_dns_read(msg, n, &q) < 0) return;		(no answer)
 *	n = egr_dns_answer(&q, EGR_DNS_ADDRESS, addr, out);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EGR_DNS_NAME_MAX 253
#define EGR_DNS_MAX	 512 /* of an answer of ours, whatever was asked */

#define EGR_DNS_A    1
#define EGR_DNS_PTR  12
#define EGR_DNS_AAAA 28

struct egr_question {
	uint16_t id, type;
	uint8_t flags; /* the first byte of the header's flags: opcode and RD count */
	uint8_t rcode; /* not 0: the question is answered with this, whatever it asks */
	bool has_edns;
	uint8_t version;		 /* of EDNS */
	size_t len;			 /* of name */
	char name[EGR_DNS_NAME_MAX + 1]; /* lower case, without the last dot */
	size_t wire_len;		 /* the question as it came, case included */
	uint8_t wire[EGR_DNS_NAME_MAX + 2 + 4];
};

enum egr_dns_said {
	EGR_DNS_ADDRESS, /* 4 or 16 bytes, by the question's type */
	EGR_DNS_NAME,	 /* a name, for PTR */
	EGR_DNS_NOTHING, /* the name is there, without what was asked */
	EGR_DNS_MISSING, /* the name is not there */
	EGR_DNS_REFUSED, /* the policy opens no such name: the same, and says why to whom it asks */
	EGR_DNS_FAILED,	 /* ask again later */
	EGR_DNS_BAD,	 /* as q->rcode says */
};

/* 0, or -1: no question, and nothing is to be answered. rcode may be set. */
int egr_dns_read(const void *msg, size_t n, struct egr_question *out);
/* The length of the answer in out. `data` is 4 or 16 bytes, a name in text, or NULL. */
size_t egr_dns_answer(const struct egr_question *, enum egr_dns_said, const void *data,
		      uint8_t out[EGR_DNS_MAX]);
/* The address that a PTR question names, to 4 (v4) or 16 bytes: 4, 16, or 0: none. */
size_t egr_dns_reverse(const char *name, uint8_t out[16]);
