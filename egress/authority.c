/* SPDX-License-Identifier: Apache-2.0 */
/* authority.c - see authority.h. */
#include "egress/authority.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/host.h"

#define LEAVES	       256u
#define SECURE_BYTES   65536u /* for keys: memory that is locked */
#define SECURE_LEAST   32u
#define SERIAL_BITS    127 /* positive, and nobody's guess */
#define BEFORE_SECONDS (-24L * 3600)
#define DAYS	       365 /* longer than any run */
#define NAME_MAX_CN    64  /* ub-common-name of RFC 5280 */

struct leaf {
	struct sbx_host host;
	X509 *cert; /* NULL = none */
};

struct egr_authority {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	struct leaf leaf[LEAVES];
};

/* ---- certificates ---- */

static bool set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	bool ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
		  BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return ok;
}

static bool set_life(X509 *x)
{
	return X509_gmtime_adj(X509_getm_notBefore(x), BEFORE_SECONDS) &&
	       X509_time_adj_ex(X509_getm_notAfter(x), DAYS, 0, NULL);
}

static bool set_name(X509_NAME *name, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)text, -1,
					  -1, 0);
}

static bool add_ext(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(x, ext, -1);
	X509_EXTENSION_free(ext);
	return ok;
}

static X509 *begin_cert(EVP_PKEY *key)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) && set_serial(x) && set_life(x) &&
	    X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

/* ---- the authority ---- */

/* Two runs on one screen are told apart by it, and no client takes the one for the other. */
static bool name_authority(X509 *x)
{
	char *serial = NULL, text[NAME_MAX_CN + 1];
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
	bool ok = n && (serial = BN_bn2hex(n));

	if (ok) {
		snprintf(text, sizeof text, "sbx-launch, authority of the run %.16s", serial);
		ok = set_name(X509_get_subject_name(x), text) &&
		     X509_set_issuer_name(x, X509_get_subject_name(x));
	}
	OPENSSL_free(serial);
	BN_free(n);
	return ok;
}

static bool make_authority(struct egr_authority *a)
{
	X509 *x = begin_cert(a->key);

	a->cert = x;
	return x && name_authority(x) &&
	       add_ext(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add_ext(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	       add_ext(x, x, NID_subject_key_identifier, "hash") &&
	       X509_sign(x, a->key, EVP_sha256());
}

struct egr_authority *egr_authority_new(struct b_err *err)
{
	struct egr_authority *a = b_calloc(1, sizeof *a);

	/* 2: it is there, and could not be locked */
	(void)CRYPTO_secure_malloc_init(SECURE_BYTES, SECURE_LEAST);
	a->key = EVP_EC_gen("P-256");
	a->leaf_key = EVP_EC_gen("P-256");
	if (a->key && a->leaf_key && make_authority(a))
		return a;
	b_fail(err, B_SYSTEM, 0, "the run's certificate authority: %s",
	       ERR_reason_error_string(ERR_peek_last_error()));
	egr_authority_free(a);
	return NULL;
}

void egr_authority_free(struct egr_authority *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < LEAVES; i++)
		X509_free(a->leaf[i].cert);
	X509_free(a->cert);
	EVP_PKEY_free(a->leaf_key);
	EVP_PKEY_free(a->key);
	free(a);
}

X509 *egr_authority_cert(const struct egr_authority *a)
{
	return a->cert;
}

EVP_PKEY *egr_authority_leaf_key(const struct egr_authority *a)
{
	return a->leaf_key;
}

/* ---- servers ---- */

static bool is_same(const struct sbx_host *a, const struct sbx_host *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == SBX_HOST_NAME ? strcmp(a->name, b->name) == 0
					: sbx_addr_equal(&a->addr, &b->addr);
}

/* FNV-1a */
static size_t place_of(const struct sbx_host *h)
{
	const unsigned char *p =
		h->kind == SBX_HOST_NAME ? (const unsigned char *)h->name : h->addr.b;
	size_t n = h->kind == SBX_HOST_NAME ? h->len : h->addr.is_v6 ? 16 : 4;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash % LEAVES;
}

static X509 *make_leaf(const struct egr_authority *a, const struct sbx_host *h)
{
	char alt[SBX_HOST_MAX + 16], addr[SBX_ADDR_TEXT] = "";
	bool is_name = h->kind == SBX_HOST_NAME;
	X509 *x = begin_cert(a->leaf_key);

	if (!is_name)
		(void)sbx_addr_text(&h->addr, addr);
	snprintf(alt, sizeof alt, is_name ? "DNS:%s" : "IP:%s", is_name ? h->name : addr);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(a->cert)) &&
	    set_name(X509_get_subject_name(x),
		     is_name && h->len <= NAME_MAX_CN ? h->name : "an inspected endpoint") &&
	    add_ext(x, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_ext(x, a->cert, NID_key_usage, "critical,digitalSignature") &&
	    add_ext(x, a->cert, NID_ext_key_usage, "serverAuth") &&
	    add_ext(x, a->cert, NID_authority_key_identifier, "keyid:always") &&
	    add_ext(x, a->cert, NID_subject_alt_name, alt) && X509_sign(x, a->key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

X509 *egr_authority_leaf(struct egr_authority *a, const struct sbx_host *h)
{
	struct leaf *l = &a->leaf[place_of(h)];

	if (l->cert && is_same(&l->host, h))
		return l->cert;
	X509_free(l->cert);
	l->cert = make_leaf(a, h);
	l->host = *h;
	return l->cert;
}
