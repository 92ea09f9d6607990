/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - a run's own certificate authority: made when the run begins, known to its programs
 * alone, gone with the process. Its key is in memory of this process that is neither swapped (where
 * the limit on locked memory allows) nor dumped, and nowhere else.
 *
 *	struct egr_authority *a = egr_authority_new(&err);
 *
 *	write egr_authority_cert(a) where clients find it
 *	SSL_use_certificate(ssl, egr_authority_leaf(a, &host));
 *	SSL_use_PrivateKey(ssl, egr_authority_leaf_key(a));
 *	egr_authority_free(a);
 *
 * Keys are of P-256. Certificates are of version 3 with all that strict readers ask for: they name
 * their issuer's key, and say what they are for.
 */
#pragma once

#include <openssl/types.h>

struct b_err;
struct egr_authority;
struct sbx_host;

struct egr_authority *egr_authority_new(struct b_err *err);
void egr_authority_free(struct egr_authority *);
/* Borrowed. */
X509 *egr_authority_cert(const struct egr_authority *);
EVP_PKEY *egr_authority_leaf_key(const struct egr_authority *);
/* For a server that is this host, a name or an address; made once, and kept until another takes its
 * place. Borrowed until the next call. NULL: it cannot be made. */
X509 *egr_authority_leaf(struct egr_authority *, const struct sbx_host *);
