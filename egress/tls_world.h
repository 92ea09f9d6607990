/* SPDX-License-Identifier: Apache-2.0 */
/* tls_world.h - tls.c and tls_world.c: what all connections share. */
#pragma once

#include <openssl/ssl.h>

struct egr_authority;

struct egr_tls_world {
	struct egr_authority *authority;
	BIO_METHOD *bio;
	SSL_CTX *server, *client; /* to callers, to servers */
};

/* ---- tls.c ---- */

BIO_METHOD *egr_tls_bio(void);
int egr_tls_named(SSL *, int *alert, void *);
int egr_tls_protocol(SSL *, const unsigned char **out, unsigned char *len, const unsigned char *in,
		     unsigned n, void *);
int egr_tls_who(SSL *, X509 **, EVP_PKEY **);
