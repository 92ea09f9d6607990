/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - certificates of authorities: those that the host trusts, with the run's own behind
 * them, in the files that clients read. Only what is a certificate is taken from a file, so that
 * nothing else of it can come out.
 *
 *	struct egr_trust t = {0};
 *
 *	egr_trust_find(&t);			the host's, and what variables name
 *	egr_trust_add(&t, der, len);		the run's
 *	egr_trust_write_pem(&t, t.nhosts, fd);	for clients that have the host's already
 *	egr_trust_write_java(&t, fd);
 *	store = egr_trust_store(&t);		what a server's certificate must lead to
 *	egr_trust_release(&t);
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct egr_der {
	unsigned char *data; /* of OpenSSL's heap */
	size_t len;
};

struct egr_trust {
	struct egr_der *v;
	size_t n, cap;
	size_t nhosts; /* the first of them: the host's own */
	struct egr_trust_file {
		dev_t dev;
		ino_t ino;
		size_t found;
	} * file; /* that were read: several variables often name the same */
	size_t nfiles, files_cap;
};

/* The host's own: the file or directory that SSL_CERT_FILE and SSL_CERT_DIR name, else the first of
 * the usual files that is there. And the files that the other variables of EGR_TRUST_VARS name,
 * which the user has set for one client or another. Paths are absolute. */
void egr_trust_find(struct egr_trust *);
/* The certificates of one file of PEM; one that is there already is not taken twice. Returns how
 * many the file has. */
size_t egr_trust_read(struct egr_trust *, const char *path);
/* False: it is there already, or there are too many. */
bool egr_trust_add(struct egr_trust *, const unsigned char *der, size_t len);
/* What was added last is not there any more. */
void egr_trust_take_back(struct egr_trust *);
void egr_trust_release(struct egr_trust *);

/* From the `from`th on. -1 with errno. */
int egr_trust_write_pem(const struct egr_trust *, size_t from, int fd);
/* As java.security.KeyStore reads it (JKS), which needs no password, or "changeit". */
int egr_trust_write_java(const struct egr_trust *, int fd);
/* NULL: no memory. What OpenSSL cannot read is left out. */
X509_STORE *egr_trust_store(const struct egr_trust *);
