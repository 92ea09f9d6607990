/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tls - what a caller says first where TLS ends: the hello is read by OpenSSL, with what we
 * add on names and protocols. Whoever only says something, and answers nothing, never comes
 * through; the server hears of nobody whose hello was refused; and a refusal has a reason. The
 * first byte says which host was dialled.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "core/host.h"
#include "egress/tls.h"
#include "egress/tls_world.h"

static struct egr_tls_world *world;

static void dial(uint8_t which, struct sbx_host *out)
{
	static const char *const hosts[] = {"a.example.net", "192.0.2.7", "2001:db8::7", "a"};
	const char *text = hosts[which % 4];

	(void)sbx_host_parse(text, strlen(text), out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int caller[2], server[2];
	enum egr_tls_said said;
	struct sbx_host host;
	struct egr_tls *t;
	struct b_err err;
	char byte;

	if (!size)
		return 0;
	if (!world && !(world = egr_tls_world_new("/dev/null", &err)))
		abort();
	dial(data[0], &host);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, caller) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, server) < 0)
		abort();
	t = egr_tls_new(world, &host, caller[0], server[0]);
	if (!t)
		abort();
	egr_tls_early(t, data + 1, size - 1);
	said = egr_tls_shake(t);
	if (said == EGR_TLS_IS_UP || said == EGR_TLS_NO_SERVER)
		abort();
	if ((said == EGR_TLS_NO_CALLER) != (*egr_tls_why(t) != '\0'))
		abort();
	if (said == EGR_TLS_NO_CALLER && recv(server[1], &byte, 1, MSG_DONTWAIT) >= 0)
		abort();
	egr_tls_free(t);
	for (int i = 0; i < 2; i++) {
		close(caller[i]);
		close(server[i]);
	}
	return 0;
}
