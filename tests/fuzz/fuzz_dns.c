/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dns - a datagram of the command as a question: what is read has a name of the length that
 * it says, and every answer to it fits.
 */
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t addr[16] = {198, 18, 0, 1};
	static const struct {
		enum egr_dns_said said;
		const void *data;
	} answers[] = {{EGR_DNS_NOTHING, NULL}, {EGR_DNS_MISSING, NULL}, {EGR_DNS_REFUSED, NULL},
		       {EGR_DNS_FAILED, NULL},	{EGR_DNS_BAD, NULL},	 {EGR_DNS_ADDRESS, addr}};
	uint8_t out[EGR_DNS_MAX], reverse[16];
	struct egr_question q;

	if (egr_dns_read(data, size, &q) < 0)
		return 0;
	if (q.len > EGR_DNS_NAME_MAX || strlen(q.name) != q.len)
		abort();
	(void)egr_dns_reverse(q.name, reverse);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		if (answers[i].said == EGR_DNS_ADDRESS && q.type != EGR_DNS_A &&
		    q.type != EGR_DNS_AAAA)
			continue;
		if (egr_dns_answer(&q, answers[i].said, answers[i].data, out) > sizeof out)
			abort();
	}
	return 0;
}
