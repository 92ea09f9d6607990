/* SPDX-License-Identifier: Apache-2.0 */
/* tls_world.c - what connections whose encryption ends here have in common, made before anything
 * is given up: the authority, what is trusted, and the files by which clients know. */
#include "egress/tls_world.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "egress/authority.h"
#include "egress/door.h"
#include "egress/trust.h"

static const unsigned char http11[] = "\10http/1.1";

/* ---- how it is spoken ---- */

static SSL_CTX *context(const SSL_METHOD *method)
{
	SSL_CTX *ctx = SSL_CTX_new(method);

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	/* each connection proves itself anew: no ticket, no session is another's */
	SSL_CTX_set_options(ctx,
			    SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_num_tickets(ctx, 0);
	/* one that is idle has no buffers; what was not sent may lie elsewhere the next time */
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

static SSL_CTX *server_context(void)
{
	SSL_CTX *ctx = context(TLS_server_method());

	if (!ctx)
		return NULL;
	(void)SSL_CTX_set_tlsext_servername_callback(ctx, egr_tls_named);
	SSL_CTX_set_alpn_select_cb(ctx, egr_tls_protocol, NULL);
	return ctx;
}

static SSL_CTX *client_context(const struct egr_trust *trust)
{
	SSL_CTX *ctx = context(TLS_client_method());
	X509_STORE *store = ctx ? egr_trust_store(trust) : NULL;

	if (!store || SSL_CTX_set_alpn_protos(ctx, http11, sizeof http11 - 1) != 0) {
		X509_STORE_free(store);
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_cert_store(ctx, store);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_client_cert_cb(ctx, egr_tls_who);
	return ctx;
}

/* ---- files ---- */

/* All but the last are what servers are trusted by. */
static int write_files(struct egr_trust *t, const struct egr_authority *a, struct b_err *err)
{
	unsigned char *der = NULL;
	int n = i2d_X509(egr_authority_cert(a), &der);
	bool is_added = n > 0 && egr_trust_add(t, der, (size_t)n), is_written;

	is_written = is_added && egr_trust_write_pem(t, t->nhosts, EGR_FD_OWN) == 0 &&
		     egr_trust_write_pem(t, 0, EGR_FD_ALL) == 0 &&
		     egr_trust_write_java(t, EGR_FD_JAVA) == 0;
	if (!is_written)
		b_fail(err, B_SYSTEM, errno, "the run's certificates: %s", strerror(errno));
	if (is_added)
		egr_trust_take_back(t);
	for (int fd = EGR_FD_OWN; fd < EGR_FD_TLS_END; fd++)
		close(fd);
	OPENSSL_free(der);
	return is_written ? 0 : -1;
}

static int tell_launcher(struct b_err *err)
{
	return send(EGR_FD_LATER, "", 1, MSG_NOSIGNAL) == 1
		       ? 0
		       : b_fail(err, B_SYSTEM, errno, "the launcher has ended");
}

/* ---- the whole ---- */

/* Nothing of the host's configuration of OpenSSL, which may name engines to load. */
static struct egr_tls_world *begin(struct b_err *err)
{
	struct egr_tls_world *w = b_calloc(1, sizeof *w);

	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL)) {
		b_fail(err, B_SYSTEM, 0, "OpenSSL cannot be used");
		free(w);
		return NULL;
	}
	w->authority = egr_authority_new(err);
	if (w->authority)
		return w;
	free(w);
	return NULL;
}

static struct egr_tls_world *finish(struct egr_tls_world *w, const struct egr_trust *t,
				    struct b_err *err)
{
	w->bio = egr_tls_bio();
	w->server = server_context();
	w->client = client_context(t);
	if (w->bio && w->server && w->client)
		return w;
	b_fail(err, B_SYSTEM, 0, "OpenSSL: %s", ERR_reason_error_string(ERR_peek_last_error()));
	egr_tls_world_free(w);
	return NULL;
}

/* The launcher waits for the files alone: what is trusted is read while it goes on. */
struct egr_tls_world *egr_tls_begin(struct b_err *err)
{
	b_auto(egr_trust_release) struct egr_trust t = {0};
	struct egr_tls_world *w = begin(err);

	if (!w)
		return NULL;
	egr_trust_find(&t);
	if (write_files(&t, w->authority, err) < 0 || tell_launcher(err) < 0) {
		egr_tls_world_free(w);
		return NULL;
	}
	return finish(w, &t, err);
}

struct egr_tls_world *egr_tls_world_new(const char *trusted, struct b_err *err)
{
	b_auto(egr_trust_release) struct egr_trust t = {0};
	struct egr_tls_world *w = begin(err);

	if (!w)
		return NULL;
	(void)egr_trust_read(&t, trusted);
	return finish(w, &t, err);
}

void egr_tls_world_free(struct egr_tls_world *w)
{
	if (!w)
		return;
	SSL_CTX_free(w->client);
	SSL_CTX_free(w->server);
	BIO_meth_free(w->bio);
	egr_authority_free(w->authority);
	free(w);
}
