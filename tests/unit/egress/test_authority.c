/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/authority.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "core/host.h"

static struct egr_authority *make(void)
{
	struct b_err err;
	struct egr_authority *a = egr_authority_new(&err);

	cr_assert(a, "%s", err.msg);
	return a;
}

static struct sbx_host host(const char *text)
{
	struct sbx_host h;

	(void)sbx_host_parse(text, strlen(text), &h);
	return h;
}

/* As the strictest of clients read it: X509_V_OK, or why not. */
static int verify(struct egr_authority *a, X509 *leaf)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int said;

	cr_assert(X509_STORE_add_cert(store, egr_authority_cert(a)));
	cr_assert(X509_STORE_CTX_init(ctx, store, leaf, NULL));
	X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
	(void)X509_verify_cert(ctx);
	said = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return said;
}

Test(egress_authority, servers_are_good_to_whom_knows_it)
{
	struct egr_authority *a = make(), *b = make();
	struct sbx_host name = host("api.example.com"), v4 = host("192.0.2.7"),
			v6 = host("2001:db8::7");
	X509 *leaf = egr_authority_leaf(a, &name);

	cr_expect_eq(verify(a, leaf), X509_V_OK);
	cr_expect_neq(verify(b, leaf), X509_V_OK, "and to nobody else");
	cr_expect_eq(X509_check_host(leaf, "api.example.com", 0, 0, NULL), 1);
	cr_expect_eq(X509_check_host(leaf, "example.com", 0, 0, NULL), 0);
	cr_expect_eq(X509_check_private_key(leaf, egr_authority_leaf_key(a)), 1);
	cr_expect_eq(X509_check_ip_asc(egr_authority_leaf(a, &v4), "192.0.2.7", 0), 1);
	leaf = egr_authority_leaf(a, &v6);
	cr_expect_eq(X509_check_ip_asc(leaf, "2001:db8::7", 0), 1);
	cr_expect_eq(verify(a, leaf), X509_V_OK);
	egr_authority_free(a);
	egr_authority_free(b);
}

/* 64 bytes is what a common name may have. */
Test(egress_authority, names_may_be_as_long_as_they_are)
{
	struct egr_authority *a = make();
	char text[SBX_HOST_MAX + 1] = "";
	struct sbx_host h;

	for (int i = 0; i < 4; i++) {
		memset(text + strlen(text), 'a' + i, 60);
		strcat(text, i < 3 ? "." : "");
	}
	h = host(text);
	cr_assert_eq(h.kind, SBX_HOST_NAME);
	cr_expect_eq(X509_check_host(egr_authority_leaf(a, &h), text, 0, 0, NULL), 1);
	cr_expect_eq(verify(a, egr_authority_leaf(a, &h)), X509_V_OK);
	egr_authority_free(a);
}

Test(egress_authority, a_server_has_one_certificate_and_each_has_its_own)
{
	struct egr_authority *a = make();
	struct sbx_host one = host("one.example.com"), two = host("two.example.com");
	X509 *first = egr_authority_leaf(a, &one);

	X509_up_ref(first);
	cr_expect_eq(egr_authority_leaf(a, &one), first);
	cr_expect_eq(X509_check_host(egr_authority_leaf(a, &two), "two.example.com", 0, 0, NULL),
		     1);
	X509_free(first);
	/* more than are kept */
	for (int i = 0; i < 600; i++) {
		char text[32];
		struct sbx_host h;

		snprintf(text, sizeof text, "n%d.example.com", i);
		h = host(text);
		cr_assert_eq(X509_check_host(egr_authority_leaf(a, &h), text, 0, 0, NULL), 1);
	}
	egr_authority_free(a);
}

Test(egress_authority, it_signs_servers_alone)
{
	struct egr_authority *a = make();
	X509 *ca = egr_authority_cert(a);
	struct sbx_host h = host("api.example.com");

	cr_expect_eq(X509_check_ca(ca), 1);
	cr_expect_eq(X509_get_pathlen(ca), 0);
	cr_expect_eq(X509_check_ca(egr_authority_leaf(a, &h)), 0);
	cr_expect_eq(X509_get_extended_key_usage(egr_authority_leaf(a, &h)), XKU_SSL_SERVER);
	egr_authority_free(a);
}
