/* SPDX-License-Identifier: Apache-2.0 */
/* tls_world.h - what all connections share whose encryption ends here (tls.h). */
#pragma once

#include <openssl/ssl.h>

struct b_err;
struct egr_authority;

struct egr_tls_world {
	struct egr_authority *authority;
	BIO_METHOD *bio;
	SSL_CTX *server, *client; /* to callers, to servers */
};

/* The run's authority, what is trusted, how both is spoken. Before confinement: it reads files, and
 * writes those of enum egr_tls_fd. Then it says at EGR_FD_LATER that they are there. */
struct egr_tls_world *egr_tls_begin(struct b_err *err);
/* For tests: trusts this file alone, writes nothing. */
struct egr_tls_world *egr_tls_world_new(const char *trusted, struct b_err *err);
void egr_tls_world_free(struct egr_tls_world *);

/* ---- tls.c ---- */

BIO_METHOD *egr_tls_bio(void);
int egr_tls_named(SSL *, int *alert, void *);
int egr_tls_protocol(SSL *, const unsigned char **out, unsigned char *len, const unsigned char *in,
		     unsigned n, void *);
int egr_tls_who(SSL *, X509 **, EVP_PKEY **);
