/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of a connection whose encryption ends in between, with OpenSSL at either. */
#include "egress/tls.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "core/host.h"
#include "egress/authority.h"
#include "egress/tls_world.h"

enum { TURNS = 50 };

static struct egr_authority *outside; /* that the host trusts */
static struct egr_tls_world *world;
static struct egr_tls *tls;
static SSL_CTX *client_ctx, *server_ctx;
static SSL *client, *server;
static int pair[EGR_HTTP_ENDS][2];
static char path[] = "/tmp/sbx-tls.XXXXXX";

static struct sbx_host host(const char *text)
{
	struct sbx_host h;

	(void)sbx_host_parse(text, strlen(text), &h);
	return h;
}

static void begin_world(void)
{
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	struct b_err err;

	outside = egr_authority_new(&err);
	cr_assert(outside && f);
	PEM_write_X509(f, egr_authority_cert(outside));
	fclose(f);
	world = egr_tls_world_new(path, &err);
	unlink(path);
	cr_assert(world, "%s", err.msg);
	client_ctx = SSL_CTX_new(TLS_client_method());
	server_ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(client_ctx),
			    egr_authority_cert(world->authority));
}

static void end_world(void)
{
	egr_tls_free(tls);
	SSL_free(client);
	SSL_free(server);
	for (int i = 0; i < 2 * EGR_HTTP_ENDS; i++)
		if (pair[i / 2][i % 2] > 0)
			close(pair[i / 2][i % 2]);
	SSL_CTX_free(client_ctx);
	SSL_CTX_free(server_ctx);
	egr_tls_world_free(world);
	egr_authority_free(outside);
}
TestSuite(egress_tls, .init = begin_world, .fini = end_world);

/* A connection to `name`, whose server has the certificate of `proof`. */
static void connect_to(const char *name, const char *proof)
{
	struct sbx_host h = host(name), p = host(proof);

	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		cr_assert_eq(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair[i]),
			0);
	tls = egr_tls_new(world, &h, pair[EGR_HTTP_CALLER][0], pair[EGR_HTTP_SERVER][0]);
	cr_assert(tls);
	client = SSL_new(client_ctx);
	SSL_set_fd(client, pair[EGR_HTTP_CALLER][1]);
	SSL_set_connect_state(client);
	server = SSL_new(server_ctx);
	SSL_use_certificate(server, egr_authority_leaf(outside, &p));
	SSL_use_PrivateKey(server, egr_authority_leaf_key(outside));
	SSL_set_fd(server, pair[EGR_HTTP_SERVER][1]);
	SSL_set_accept_state(server);
}

static enum egr_tls_said shake(void)
{
	enum egr_tls_said said = EGR_TLS_WAITS;

	for (int i = 0; i < TURNS && said == EGR_TLS_WAITS; i++) {
		(void)SSL_do_handshake(client);
		said = egr_tls_shake(tls);
		(void)SSL_do_handshake(server);
		ERR_clear_error();
	}
	(void)SSL_do_handshake(client);
	return said;
}

static void expect_failure(enum egr_tls_said want, const char *why)
{
	cr_expect_eq(shake(), want);
	cr_expect(strstr(egr_tls_why(tls), why), "%s", egr_tls_why(tls));
}

Test(egress_tls, carries_what_either_end_says)
{
	char buf[64];

	connect_to("a.example.net", "a.example.net");
	SSL_set_tlsext_host_name(client, (char[]){"A.Example.NET"});
	SSL_set1_host(client, "a.example.net");
	cr_assert_eq(shake(), EGR_TLS_IS_UP);
	cr_expect_str_eq(egr_tls_why(tls), "");
	cr_expect_str_eq(SSL_get_servername(server, TLSEXT_NAMETYPE_host_name), "a.example.net");
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_CALLER, buf, sizeof buf), -1);
	cr_expect_eq(errno, EAGAIN);
	cr_expect_eq(SSL_write(client, "to it", 5), 5);
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_CALLER, buf, sizeof buf), 5);
	cr_expect_eq(egr_tls_send(tls, EGR_HTTP_SERVER, buf, 5), 5);
	cr_expect_eq(SSL_read(server, buf, sizeof buf), 5);
	cr_expect_arr_eq(buf, "to it", 5);
	cr_expect_eq(SSL_write(server, "and back", 8), 8);
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_SERVER, buf, sizeof buf), 8);
	cr_expect_eq(egr_tls_send(tls, EGR_HTTP_CALLER, buf, 8), 8);
	cr_expect_eq(SSL_read(client, buf, sizeof buf), 8);
}

Test(egress_tls, an_end_that_is_said_is_told_from_one_that_breaks_off)
{
	char buf[8];

	connect_to("a.example.net", "a.example.net");
	cr_assert_eq(shake(), EGR_TLS_IS_UP);
	SSL_shutdown(client);
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_CALLER, buf, sizeof buf), 0);
	close(pair[EGR_HTTP_SERVER][1]);
	pair[EGR_HTTP_SERVER][1] = -1;
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_SERVER, buf, sizeof buf), -1);
	cr_expect_eq(errno, ECONNRESET);
	cr_expect_str_eq(egr_tls_why(tls), "", "which is nobody's fault");
	egr_tls_shut(tls, EGR_HTTP_CALLER);
	cr_expect_eq(SSL_read(client, buf, sizeof buf), 0);
	cr_expect_eq(SSL_get_shutdown(client), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

/* What a proxy has read of the caller before. */
Test(egress_tls, the_first_bytes_may_have_been_read)
{
	uint8_t early[2048];
	ssize_t n;

	connect_to("a.example.net", "a.example.net");
	(void)SSL_do_handshake(client);
	n = recv(pair[EGR_HTTP_CALLER][0], early, sizeof early, 0);
	cr_assert_gt(n, 100);
	cr_expect(egr_tls_is_begun(early[0]));
	egr_tls_early(tls, early, (size_t)n);
	cr_expect_eq(shake(), EGR_TLS_IS_UP);
}

Test(egress_tls, another_name_is_refused_before_the_server_hears_of_it)
{
	char byte;

	connect_to("a.example.net", "a.example.net");
	SSL_set_tlsext_host_name(client, (char[]){"b.example.net"});
	expect_failure(EGR_TLS_NO_CALLER, "is for another host");
	cr_expect_eq(recv(pair[EGR_HTTP_SERVER][1], &byte, 1, MSG_DONTWAIT), -1);
}

Test(egress_tls, a_name_is_not_an_address)
{
	connect_to("192.0.2.7", "192.0.2.7");
	SSL_set_tlsext_host_name(client, (char[]){"a.example.net"});
	expect_failure(EGR_TLS_NO_CALLER, "is for another host");
}

Test(egress_tls, an_address_is_proved_as_one)
{
	connect_to("192.0.2.7", "192.0.2.7");
	cr_expect_eq(shake(), EGR_TLS_IS_UP);
	cr_expect_null(SSL_get_servername(server, TLSEXT_NAMETYPE_host_name));
}

Test(egress_tls, another_address_is_not_proved)
{
	connect_to("192.0.2.7", "192.0.2.8");
	expect_failure(EGR_TLS_NO_SERVER, "certificate cannot be verified: IP address mismatch");
}

Test(egress_tls, a_server_must_be_the_host)
{
	connect_to("a.example.net", "b.example.net");
	expect_failure(EGR_TLS_NO_SERVER, "certificate cannot be verified: hostname mismatch");
}

Test(egress_tls, a_server_must_be_known)
{
	struct sbx_host h = host("a.example.net");

	connect_to("a.example.net", "a.example.net");
	/* by the run's own authority: that is for callers */
	SSL_use_certificate(server, egr_authority_leaf(world->authority, &h));
	SSL_use_PrivateKey(server, egr_authority_leaf_key(world->authority));
	expect_failure(EGR_TLS_NO_SERVER, "certificate cannot be verified");
}

Test(egress_tls, a_client_that_does_not_know_us_is_named)
{
	SSL_CTX_free(client_ctx);
	client_ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
	connect_to("a.example.net", "a.example.net");
	expect_failure(EGR_TLS_NO_CALLER, "does not trust the run's certificate");
}

Test(egress_tls, mutual_tls_is_named)
{
	SSL_CTX_set_max_proto_version(server_ctx, TLS1_2_VERSION);
	SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	connect_to("a.example.net", "a.example.net");
	expect_failure(EGR_TLS_NO_SERVER, "asks for a client certificate (mutual TLS)");
}

/* In 1.3 a server says so behind the handshake. */
Test(egress_tls, mutual_tls_is_named_late)
{
	char buf[8];

	SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	connect_to("a.example.net", "a.example.net");
	cr_assert_eq(shake(), EGR_TLS_IS_UP);
	(void)SSL_do_handshake(server);
	cr_expect_eq(egr_tls_recv(tls, EGR_HTTP_SERVER, buf, sizeof buf), -1);
	cr_expect_eq(errno, ECONNRESET);
	cr_expect(strstr(egr_tls_why(tls), "mutual TLS"), "%s", egr_tls_why(tls));
}

Test(egress_tls, http_1_1_is_what_there_is)
{
	static const unsigned char both[] = "\2h2\10http/1.1";
	const unsigned char *p;
	unsigned n;

	connect_to("a.example.net", "a.example.net");
	SSL_set_alpn_protos(client, both, sizeof both - 1);
	cr_assert_eq(shake(), EGR_TLS_IS_UP);
	SSL_get0_alpn_selected(client, &p, &n);
	cr_expect(n == 8 && memcmp(p, "http/1.1", 8) == 0);
}

Test(egress_tls, a_client_without_it_is_named)
{
	connect_to("a.example.net", "a.example.net");
	SSL_set_alpn_protos(client, (const unsigned char *)"\2h2", 3);
	expect_failure(EGR_TLS_NO_CALLER, "does not offer HTTP/1.1");
}

Test(egress_tls, old_versions_are_not_spoken)
{
	SSL_CTX_set_min_proto_version(client_ctx, TLS1_1_VERSION);
	SSL_CTX_set_max_proto_version(client_ctx, TLS1_1_VERSION);
	SSL_CTX_set_cipher_list(client_ctx, "DEFAULT@SECLEVEL=0");
	connect_to("a.example.net", "a.example.net");
	expect_failure(EGR_TLS_NO_CALLER, "no TLS with the client");
}

Test(egress_tls, what_is_not_tls_is_none)
{
	connect_to("a.example.net", "a.example.net");
	cr_assert_eq(send(pair[EGR_HTTP_CALLER][1], "\x16\x03\x01\x00\x05hello", 10, 0), 10);
	expect_failure(EGR_TLS_NO_CALLER, "no TLS with the client");
}
