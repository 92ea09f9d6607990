/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "egress/dns.h"

/* A question for `name`, of labels with their lengths in front, with or without EDNS. */
static size_t make(uint8_t *msg, const char *labels, size_t n, unsigned type, bool edns)
{
	static const uint8_t opt[] = {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0};
	uint8_t *p = msg;

	memcpy(p, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
	p[11] = edns;
	p += 12;
	memcpy(p, labels, n);
	p += n;
	*p++ = (uint8_t)(type >> 8);
	*p++ = (uint8_t)type;
	*p++ = 0;
	*p++ = 1;
	if (edns) {
		memcpy(p, opt, sizeof opt);
		p += sizeof opt;
	}
	return (size_t)(p - msg);
}

#define NAME "\3API\7example\3net"

Test(egress_dns, a_question_is_read_in_small_letters)
{
	uint8_t msg[512];
	struct egr_question q;

	cr_assert_eq(egr_dns_read(msg, make(msg, NAME, sizeof NAME, EGR_DNS_A, true), &q), 0);
	cr_expect_str_eq(q.name, "api.example.net");
	cr_expect_eq(q.len, strlen(q.name));
	cr_expect_eq(q.id, 0x1234);
	cr_expect_eq(q.type, EGR_DNS_A);
	cr_expect_eq(q.rcode, 0);
	cr_expect(q.has_edns);
}

/* RFC 1035, 3.1: 255 bytes with lengths and root are 253 of text. One more must not be kept. */
Test(egress_dns, the_longest_name_is_read_and_none_that_is_longer)
{
	for (uint8_t last = 61; last <= 63; last++) {
		uint8_t name[258] = {0}, msg[512];
		struct egr_question q;
		size_t n = 0;

		for (int i = 0; i < 4; i++) {
			uint8_t label = i < 3 ? 63 : last;

			name[n++] = label;
			memset(name + n, 'a', label);
			n += label;
		}
		memset(&q, 0xee, sizeof q);
		cr_assert_eq(egr_dns_read(msg,
					  make(msg, (const char *)name, n + 1, EGR_DNS_A, false),
					  &q),
			     0);
		cr_expect_eq(q.rcode, last == 61 ? 0 : 1, "%u", last);
		cr_expect_eq(q.len, last == 61 ? 253 : 0, "%u", last);
	}
}

Test(egress_dns, an_answer_repeats_the_question_and_has_the_address)
{
	static const uint8_t addr[4] = {198, 18, 0, 7};
	uint8_t msg[512], out[EGR_DNS_MAX];
	struct egr_question q;
	size_t asked = make(msg, NAME, sizeof NAME, EGR_DNS_A, false), n;

	cr_assert_eq(egr_dns_read(msg, asked, &q), 0);
	n = egr_dns_answer(&q, EGR_DNS_ADDRESS, addr, out);
	cr_assert_eq(n, asked + 16);
	cr_expect_arr_eq(out, "\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00", 12);
	cr_expect_arr_eq(out + 12, msg + 12, asked - 12);
	cr_expect_arr_eq(out + n - 4, addr, 4);
}

Test(egress_dns, what_the_policy_refuses_is_not_there_and_edns_says_why)
{
	uint8_t msg[512], out[EGR_DNS_MAX];
	struct egr_question q;
	size_t n;

	cr_assert_eq(egr_dns_read(msg, make(msg, NAME, sizeof NAME, EGR_DNS_A, true), &q), 0);
	n = egr_dns_answer(&q, EGR_DNS_REFUSED, NULL, out);
	cr_expect_eq(out[3] & 15, 3);
	cr_expect_eq(out[7], 0, "no record");
	cr_expect_eq(out[11], 1, "EDNS");
	cr_expect_arr_eq(out + n - 14, "sandbox policy", 14);
	n = egr_dns_answer(&q, EGR_DNS_NOTHING, NULL, out);
	cr_expect_eq(out[3] & 15, 0);
	cr_expect_eq(out[7], 0);
	(void)n;
}

Test(egress_dns, every_cut_of_a_question_is_answered_or_left_and_never_read_beyond)
{
	uint8_t msg[512];
	size_t whole = make(msg, NAME, sizeof NAME, EGR_DNS_A, true);

	for (size_t n = 0; n < whole; n++) {
		uint8_t *copy = malloc(n + !n);
		struct egr_question q = {0};
		uint8_t out[EGR_DNS_MAX];

		memcpy(copy, msg, n);
		if (egr_dns_read(copy, n, &q) == 0 && q.rcode)
			cr_expect_eq(egr_dns_answer(&q, EGR_DNS_BAD, NULL, out), 12u);
		free(copy);
	}
}

Test(egress_dns, odd_questions_have_their_codes)
{
	uint8_t msg[512];
	struct egr_question q;
	size_t n = make(msg, NAME, sizeof NAME, EGR_DNS_A, false);

	msg[2] = 0x28; /* an update */
	cr_assert_eq(egr_dns_read(msg, n, &q), 0);
	cr_expect_eq(q.rcode, 4);
	msg[2] = 0x81; /* an answer */
	cr_expect_eq(egr_dns_read(msg, n, &q), -1);
	msg[2] = 1;
	msg[5] = 2; /* two questions */
	cr_assert_eq(egr_dns_read(msg, n, &q), 0);
	cr_expect_eq(q.rcode, 1);
	n = make(msg, "\300\14", 2, EGR_DNS_A, false); /* a name that leads to itself */
	cr_assert_eq(egr_dns_read(msg, n, &q), 0);
	cr_expect_eq(q.rcode, 1);
}

Test(egress_dns, bytes_that_no_rule_can_name_match_none)
{
	uint8_t msg[512];
	struct egr_question q;
	size_t n = make(msg, "\3a.b\4c\0de\1\xff", 12, EGR_DNS_A, false);

	cr_assert_eq(egr_dns_read(msg, n, &q), 0);
	cr_expect_str_eq(q.name, "a?b.c?de.?", "%s", q.name);
}

Test(egress_dns, reverse_names_are_addresses)
{
	uint8_t out[16];

	cr_expect_eq(egr_dns_reverse("7.0.18.198.in-addr.arpa", out), 4u);
	cr_expect_arr_eq(out, "\306\22\0\7", 4);
	cr_expect_eq(egr_dns_reverse("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1."
				     "0.0.2.ip6.arpa",
				     out),
		     16u);
	cr_expect_arr_eq(out, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	cr_expect_eq(egr_dns_reverse("256.0.18.198.in-addr.arpa", out), 0u);
	cr_expect_eq(egr_dns_reverse("0.18.198.in-addr.arpa", out), 0u);
	cr_expect_eq(egr_dns_reverse("example.net", out), 0u);
}
