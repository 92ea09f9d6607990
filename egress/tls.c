/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - see tls.h. OpenSSL reads all that comes; what we add are names and who is trusted. */
#include "egress/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/host.h"
#include "egress/authority.h"
#include "egress/tls_world.h"

#define WHY_MAX 320
#define STAYS	": an endpoint without rules on requests stays encrypted"

static const unsigned char http11[] = "\10http/1.1";

struct end {
	SSL *ssl;
	int fd;
	bool is_up, has_failed, is_shut;
	const uint8_t *early; /* read before; of the caller */
	size_t nearly;
};

struct egr_tls {
	struct egr_tls_world *world;
	struct end end[EGR_HTTP_ENDS];
	struct sbx_host host;
	bool is_named;	   /* the caller's hello is one for this host */
	bool asks_who;	   /* the server wants to know who we are (mutual TLS) */
	const char *hello; /* what is wrong with the caller's; NULL = nothing */
	char why[WHY_MAX];
};

/* ---- bytes ---- */

static int bio_read(BIO *b, char *buf, int n)
{
	struct end *end = BIO_get_data(b);
	ssize_t got;

	BIO_clear_retry_flags(b);
	if (end->nearly) {
		n = (size_t)n < end->nearly ? n : (int)end->nearly;
		memcpy(buf, end->early, (size_t)n);
		end->early += n;
		end->nearly -= (size_t)n;
		return n;
	}
	got = recv(end->fd, buf, (size_t)n, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	return (int)got;
}

static int bio_write(BIO *b, const char *buf, int n)
{
	const struct end *end = BIO_get_data(b);
	ssize_t sent;

	BIO_clear_retry_flags(b);
	sent = send(end->fd, buf, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(b);
	return (int)sent;
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
	(void)b;
	(void)n;
	(void)p;
	return what == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

BIO_METHOD *egr_tls_bio(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");

	if (m && BIO_meth_set_read(m, bio_read) && BIO_meth_set_write(m, bio_write) &&
	    BIO_meth_set_ctrl(m, bio_ctrl) && BIO_meth_set_create(m, bio_create))
		return m;
	BIO_meth_free(m);
	return NULL;
}

/* ---- what the caller's hello says ---- */

/* The host that was dialled, and no other; of an address none is said (RFC 6066, 3). */
static bool is_for(const struct egr_tls *t, const char *name)
{
	struct sbx_host said;

	if (!name)
		return true;
	return sbx_host_parse(name, strlen(name), &said) == SBX_HOST_NAME &&
	       t->host.kind == SBX_HOST_NAME && strcmp(said.name, t->host.name) == 0;
}

int egr_tls_named(SSL *ssl, int *alert, void *arg)
{
	struct egr_tls *t = SSL_get_app_data(ssl);

	(void)arg;
	if (!is_for(t, SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name))) {
		t->hello = "the TLS hello is for another host than the connection";
		*alert = SSL_AD_UNRECOGNIZED_NAME;
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	t->is_named = true;
	return SSL_TLSEXT_ERR_OK;
}

int egr_tls_protocol(SSL *ssl, const unsigned char **out, unsigned char *len,
		     const unsigned char *in, unsigned n, void *arg)
{
	struct egr_tls *t = SSL_get_app_data(ssl);
	unsigned char *chosen;

	(void)arg;
	if (SSL_select_next_proto(&chosen, len, http11, sizeof http11 - 1, in, n) !=
	    OPENSSL_NPN_NEGOTIATED) {
		t->hello = "the client does not offer HTTP/1.1 (ALPN)";
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* There is nobody that we could be: the server goes on without, or says so. */
int egr_tls_who(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
	struct egr_tls *t = SSL_get_app_data(ssl);

	(void)cert;
	(void)key;
	t->asks_who = true;
	return 0;
}

/* ---- one connection ---- */

static bool open_end(struct egr_tls *t, enum egr_http_end which, SSL_CTX *ctx, int fd)
{
	struct end *end = &t->end[which];
	BIO *bio;

	end->fd = fd;
	end->ssl = SSL_new(ctx);
	bio = end->ssl ? BIO_new(t->world->bio) : NULL;
	if (!bio)
		return false;
	BIO_set_data(bio, end);
	SSL_set_bio(end->ssl, bio, bio);
	return SSL_set_app_data(end->ssl, t);
}

static bool open_caller(struct egr_tls *t, int fd)
{
	X509 *leaf = egr_authority_leaf(t->world->authority, &t->host);
	SSL *ssl;

	if (!leaf || !open_end(t, EGR_HTTP_CALLER, t->world->server, fd))
		return false;
	ssl = t->end[EGR_HTTP_CALLER].ssl;
	SSL_set_accept_state(ssl);
	return SSL_use_certificate(ssl, leaf) &&
	       SSL_use_PrivateKey(ssl, egr_authority_leaf_key(t->world->authority));
}

/* The server proves that it is the host: a name, or an address. */
static bool open_server(struct egr_tls *t, int fd)
{
	const struct sbx_host *h = &t->host;
	SSL *ssl;

	if (!open_end(t, EGR_HTTP_SERVER, t->world->client, fd))
		return false;
	ssl = t->end[EGR_HTTP_SERVER].ssl;
	SSL_set_connect_state(ssl);
	if (h->kind != SBX_HOST_NAME)
		return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), h->addr.b,
						 h->addr.is_v6 ? 16 : 4);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
				       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	/* the macro SSL_set_tlsext_host_name() takes const away; the name is copied */
	return SSL_set1_host(ssl, h->name) &&
	       SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			(void *)(uintptr_t)h->name);
}

struct egr_tls *egr_tls_new(struct egr_tls_world *w, const struct sbx_host *h, int caller_fd,
			    int peer_fd)
{
	struct egr_tls *t = b_calloc(1, sizeof *t);

	t->world = w;
	t->host = *h;
	ERR_clear_error();
	if (open_caller(t, caller_fd) && open_server(t, peer_fd))
		return t;
	egr_tls_free(t);
	return NULL;
}

void egr_tls_early(struct egr_tls *t, const uint8_t *early, size_t n)
{
	t->end[EGR_HTTP_CALLER].early = early;
	t->end[EGR_HTTP_CALLER].nearly = n;
}

void egr_tls_free(struct egr_tls *t)
{
	if (!t)
		return;
	for (int i = 0; i < EGR_HTTP_ENDS; i++)
		SSL_free(t->end[i].ssl);
	free(t);
}

const char *egr_tls_why(const struct egr_tls *t)
{
	return t->why;
}

/* ---- what went wrong ---- */

/* The alerts by which a client says that it does not take our certificate. */
static bool is_distrust(int reason)
{
	switch (reason) {
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
		return true;
	default:
		return false;
	}
}

static const char *reason_text(int how)
{
	unsigned long code = ERR_peek_last_error();
	const char *text = ERR_reason_error_string(code);

	if (text)
		return text;
	return how == SSL_ERROR_SYSCALL || how == SSL_ERROR_ZERO_RETURN
		       ? "the connection was closed"
		       : "unknown reason";
}

static void explain_caller(struct egr_tls *t, int how)
{
	int reason = ERR_GET_REASON(ERR_peek_last_error());

	if (t->hello)
		snprintf(t->why, sizeof t->why, "%s", t->hello);
	else if (how == SSL_ERROR_SSL && is_distrust(reason))
		snprintf(t->why, sizeof t->why,
			 "the client does not trust the run's certificate (%s): it expects a fixed "
			 "one, or uses its own trust store" STAYS,
			 reason_text(how));
	else
		snprintf(t->why, sizeof t->why, "no TLS with the client: %s", reason_text(how));
}

static void explain_server(struct egr_tls *t, int how)
{
	long verified = SSL_get_verify_result(t->end[EGR_HTTP_SERVER].ssl);
	int reason = ERR_GET_REASON(ERR_peek_last_error());

	if (how == SSL_ERROR_SSL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		snprintf(t->why, sizeof t->why, "the server's certificate cannot be verified: %s",
			 X509_verify_cert_error_string(verified));
	else if (t->asks_who)
		snprintf(t->why, sizeof t->why,
			 "the server asks for a client certificate (mutual TLS), which the "
			 "inspecting relay does not have (%s)" STAYS,
			 reason_text(how));
	else
		snprintf(t->why, sizeof t->why, "no TLS with the server: %s", reason_text(how));
}

/* 1: goes on, or waits; 0: the end is done with; -1: it has failed, for SSL_get_error()'s reason.
 */
static int judge(const struct end *end, int rc, int *how)
{
	*how = SSL_get_error(end->ssl, rc);
	if (*how == SSL_ERROR_WANT_READ || *how == SSL_ERROR_WANT_WRITE)
		return 1;
	return *how == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

/* ---- the handshakes ---- */

static void step(struct egr_tls *t, enum egr_http_end which)
{
	struct end *end = &t->end[which];
	int rc, how;

	if (end->is_up || end->has_failed)
		return;
	ERR_clear_error();
	rc = SSL_do_handshake(end->ssl);
	end->is_up = rc == 1;
	if (rc == 1 || judge(end, rc, &how) == 1)
		return;
	end->has_failed = true;
	if (which == EGR_HTTP_CALLER)
		explain_caller(t, how);
	else if (!t->end[EGR_HTTP_CALLER].has_failed)
		explain_server(t, how);
	ERR_clear_error();
}

/* The server hears nothing before the caller has said a name that agrees. */
enum egr_tls_said egr_tls_shake(struct egr_tls *t)
{
	const struct end *caller = &t->end[EGR_HTTP_CALLER], *server = &t->end[EGR_HTTP_SERVER];

	step(t, EGR_HTTP_CALLER);
	if (caller->has_failed)
		return EGR_TLS_NO_CALLER;
	if (t->is_named)
		step(t, EGR_HTTP_SERVER);
	if (!caller->is_up || (!server->is_up && !server->has_failed))
		return EGR_TLS_WAITS;
	return server->is_up ? EGR_TLS_IS_UP : EGR_TLS_NO_SERVER;
}

/* ---- behind them ---- */

ssize_t egr_tls_recv(struct egr_tls *t, enum egr_http_end which, void *buf, size_t n)
{
	struct end *end = &t->end[which];
	size_t got;
	int how;

	ERR_clear_error();
	if (SSL_read_ex(end->ssl, buf, n, &got))
		return (ssize_t)got;
	switch (judge(end, 0, &how)) {
	case 1:
		return errno = EAGAIN, -1;
	case 0:
		return 0;
	default:
		/* a server's alert; a connection that merely ended says nothing */
		if (which == EGR_HTTP_SERVER && how == SSL_ERROR_SSL)
			explain_server(t, how);
		return errno = ECONNRESET, -1;
	}
}

ssize_t egr_tls_send(struct egr_tls *t, enum egr_http_end which, const void *buf, size_t n)
{
	struct end *end = &t->end[which];
	size_t sent;
	int how;

	ERR_clear_error();
	if (SSL_write_ex(end->ssl, buf, n, &sent))
		return (ssize_t)sent;
	return errno = judge(end, 0, &how) == 1 ? EAGAIN : EPIPE, -1;
}

/* Once, and it waits for no answer. After a failure there is nothing more to say. */
void egr_tls_shut(struct egr_tls *t, enum egr_http_end which)
{
	struct end *end = &t->end[which];

	if (!end->is_up || end->is_shut)
		return;
	end->is_shut = true;
	ERR_clear_error();
	(void)SSL_shutdown(end->ssl);
	ERR_clear_error();
}
