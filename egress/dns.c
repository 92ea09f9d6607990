/* SPDX-License-Identifier: Apache-2.0 */
/* dns.c - see dns.h. */
#include "egress/dns.h"

#include <string.h>

#define HEADER	  12u
#define LABEL_MAX 63u

#define TYPE_OPT 41
#define CLASS_IN 1
#define QR	 0x80u /* of the first byte of flags */
#define OPCODE	 0x78u
#define RD	 0x01u
#define RA	 0x80u /* of the second */

enum { NOERROR = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, BADVERS = 16 };

#define TTL	       5u    /* seconds: a denial that is opened is soon seen */
#define PAYLOAD	       1232u /* what we say that we take: of no use, and everybody's number */
#define EDE_OPTION     15u
#define EDE_PROHIBITED 18u

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint8_t *put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

/* ---- reading ---- */

/* A byte that the policy's language can speak of; else the question is for nothing that it opens.
 */
static bool is_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* The name at msg[*at], and *at behind it. False: cut short, or compressed, which no question is.
 */
static bool read_name(const uint8_t *msg, size_t n, size_t *at, struct egr_question *q)
{
	size_t i = *at;

	q->len = 0;
	for (;;) {
		size_t label;

		if (i >= n)
			return false;
		label = msg[i++];
		if (!label)
			break;
		if (label > LABEL_MAX || label > n - i ||
		    q->len + (q->len > 0) + label > EGR_DNS_NAME_MAX)
			return false;
		if (q->len)
			q->name[q->len++] = '.';
		for (; label; label--, i++) {
			uint8_t c = msg[i];

			c = c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
			q->name[q->len++] = is_plain(c) ? (char)c : '?';
		}
	}
	q->name[q->len] = '\0';
	*at = i;
	return true;
}

/* Records behind the question: only one is of interest, and what is odd is none of it. */
static void read_edns(const uint8_t *msg, size_t n, size_t at, unsigned records,
		      struct egr_question *q)
{
	struct egr_question skipped;

	for (; records; records--) {
		size_t len;
		unsigned type;

		/* the name of OPT is the root: one that is compressed is another record's */
		if (!read_name(msg, n, &at, &skipped) || n - at < 10)
			return;
		type = get16(msg + at);
		len = get16(msg + at + 8);
		if (type == TYPE_OPT) {
			q->has_edns = true;
			q->version = msg[at + 5];
		}
		at += 10;
		if (len > n - at)
			return;
		at += len;
	}
}

int egr_dns_read(const void *message, size_t n, struct egr_question *out)
{
	const uint8_t *msg = message;
	struct egr_question q = {0};
	size_t at = HEADER;

	if (n < HEADER || msg[2] & QR)
		return -1;
	q.id = (uint16_t)get16(msg);
	q.flags = msg[2];
	if (q.flags & OPCODE)
		q.rcode = NOTIMP;
	else if (get16(msg + 4) != 1 || !read_name(msg, n, &at, &q) || n - at < 4)
		q.rcode = FORMERR;
	if (q.rcode) {
		*out = (struct egr_question){.id = q.id, .flags = q.flags, .rcode = q.rcode};
		return 0;
	}
	q.type = (uint16_t)get16(msg + at);
	if (get16(msg + at + 2) != CLASS_IN)
		q.rcode = NOTIMP;
	at += 4;
	q.wire_len = at - HEADER;
	memcpy(q.wire, msg + HEADER, q.wire_len);
	read_edns(msg, n, at, get16(msg + 6) + get16(msg + 8) + get16(msg + 10), &q);
	if (q.has_edns && q.version)
		q.rcode = BADVERS;
	*out = q;
	return 0;
}

/* ---- writing ---- */

static uint8_t *put_name(uint8_t *p, const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");

		*p++ = (uint8_t)label;
		memcpy(p, name, label);
		p += label;
		name += label + (name[label] == '.');
	}
	*p++ = 0;
	return p;
}

/* One record of the name that was asked for. */
static uint8_t *put_record(uint8_t *p, const struct egr_question *q, const void *data)
{
	uint8_t *len;

	p = put16(p, 0xc000u | HEADER); /* the name is that of the question */
	p = put16(p, q->type);
	p = put16(p, CLASS_IN);
	p = put16(p, 0);
	p = put16(p, TTL);
	len = p;
	p += 2;
	if (q->type == EGR_DNS_PTR) {
		p = put_name(p, data);
	} else {
		size_t size = q->type == EGR_DNS_A ? 4 : 16;

		memcpy(p, data, size);
		p += size;
	}
	put16(len, (unsigned)(p - len - 2));
	return p;
}

static uint8_t *put_edns(uint8_t *p, unsigned rcode, bool is_refused)
{
	static const char why[] = "sandbox policy";

	*p++ = 0;
	p = put16(p, TYPE_OPT);
	p = put16(p, PAYLOAD);
	*p++ = (uint8_t)(rcode >> 4);
	*p++ = 0; /* version */
	p = put16(p, 0);
	if (!is_refused)
		return put16(p, 0);
	p = put16(p, 4 + 2 + sizeof why - 1);
	p = put16(p, EDE_OPTION);
	p = put16(p, 2 + sizeof why - 1);
	p = put16(p, EDE_PROHIBITED);
	memcpy(p, why, sizeof why - 1);
	return p + sizeof why - 1;
}

static unsigned rcode_of(const struct egr_question *q, enum egr_dns_said said)
{
	switch (said) {
	case EGR_DNS_MISSING:
	case EGR_DNS_REFUSED:
		return NXDOMAIN;
	case EGR_DNS_FAILED:
		return SERVFAIL;
	case EGR_DNS_BAD:
		return q->rcode;
	case EGR_DNS_ADDRESS:
	case EGR_DNS_NAME:
	case EGR_DNS_NOTHING:
		break;
	}
	return NOERROR;
}

size_t egr_dns_answer(const struct egr_question *q, enum egr_dns_said said, const void *data,
		      uint8_t out[EGR_DNS_MAX])
{
	bool has_record = said == EGR_DNS_ADDRESS || said == EGR_DNS_NAME;
	unsigned rcode = rcode_of(q, said);
	uint8_t *p = out;

	p = put16(p, q->id);
	*p++ = (uint8_t)(QR | (q->flags & (OPCODE | RD)));
	*p++ = (uint8_t)(RA | (rcode & 0xf));
	p = put16(p, q->wire_len ? 1 : 0);
	p = put16(p, has_record ? 1 : 0);
	p = put16(p, 0);
	p = put16(p, q->has_edns ? 1 : 0);
	memcpy(p, q->wire, q->wire_len);
	p += q->wire_len;
	if (has_record)
		p = put_record(p, q, data);
	if (q->has_edns)
		p = put_edns(p, rcode, said == EGR_DNS_REFUSED);
	return (size_t)(p - out);
}

/* ---- addresses as names ---- */

static int digit(char c, bool is_hex)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return is_hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "4.3.2.1.in-addr.arpa" */
static size_t reverse4(const char *s, uint8_t out[16])
{
	for (int i = 3; i >= 0; i--) {
		unsigned v = 0, n = 0;

		for (; digit(*s, false) >= 0 && n < 3; s++, n++)
			v = v * 10 + (unsigned)digit(*s, false);
		if (!n || v > 255 || *s++ != '.')
			return 0;
		out[i] = (uint8_t)v;
	}
	return strcmp(s, "in-addr.arpa") == 0 ? 4 : 0;
}

static size_t reverse6(const char *s, uint8_t out[16])
{
	for (int i = 31; i >= 0; i--, s += 2) {
		int v = digit(*s, true);

		if (v < 0 || s[1] != '.')
			return 0;
		out[i / 2] = (uint8_t)(i & 1 ? v : out[i / 2] | v << 4);
	}
	return strcmp(s, "ip6.arpa") == 0 ? 16 : 0;
}

size_t egr_dns_reverse(const char *name, uint8_t out[16])
{
	size_t n = reverse4(name, out);

	return n ? n : reverse6(name, out);
}
