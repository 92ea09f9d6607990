/* SPDX-License-Identifier: Apache-2.0 */
/* sign.c - see sign.h. */
#include "bundle/sign.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum { KEY_FILE_MAX = 16384, RAW = 32 };

/* So that a signature of a bundle is one of nothing else. */
static const char context[] = "sbx-bundle 1\n";

static void free_key(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

static void free_context(EVP_MD_CTX **c)
{
	EVP_MD_CTX_free(*c);
}

/* Who may write a public key decides what is valid; who may read a private one signs. */
static int read_key_file(const char *path, bool is_private, struct b_str *out, struct b_err *err)
{
	mode_t bad = is_private ? 077 : 022;
	struct stat st;

	if (stat(path, &st) < 0)
		return b_fail(err, B_USAGE, errno, "key %s: %s", path, strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return b_fail(err, B_USAGE, 0, "key %s: it belongs to another user", path);
	if (st.st_mode & bad)
		return b_fail(err, B_USAGE, 0, "key %s: others may %s it: chmod %s %s", path,
			      is_private ? "read" : "write", is_private ? "600" : "go-w", path);
	return b_read_file(path, KEY_FILE_MAX, out, err);
}

static EVP_PKEY *load_key(const char *path, bool is_private, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	EVP_PKEY *key = NULL;
	BIO *bio;

	if (read_key_file(path, is_private, &text, err) < 0)
		return NULL;
	bio = BIO_new_mem_buf(b_str_c(&text), (int)text.len);
	if (bio)
		key = is_private ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL)
				 : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
	BIO_free(bio);
	explicit_bzero(b_str_room(&text, 0) - text.len, text.len);
	if (key && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519)
		return key;
	EVP_PKEY_free(key);
	b_fail(err, B_USAGE, 0, "key %s: not a %s key of Ed25519 in PEM", path,
	       is_private ? "private" : "public");
	return NULL;
}

static void whole(const struct b_str *payload, struct b_str *out)
{
	b_str_add(out, context);
	b_str_addn(out, payload->s, payload->len);
}

int bun_sign(const char *path, const struct b_str *payload, unsigned char out[BUN_SIGNATURE],
	     struct b_err *err)
{
	b_auto(free_key) EVP_PKEY *key = load_key(path, true, err);
	b_auto(free_context) EVP_MD_CTX *c = EVP_MD_CTX_new();
	b_auto(b_str_release) struct b_str text = {0};
	size_t n = BUN_SIGNATURE;

	if (!key)
		return -1;
	whole(payload, &text);
	if (!c || EVP_DigestSignInit(c, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(c, out, &n, (const unsigned char *)text.s, text.len) != 1 ||
	    n != BUN_SIGNATURE)
		return b_fail(err, B_SYSTEM, 0, "OpenSSL cannot sign");
	return 0;
}

static int id_of(const EVP_PKEY *key, char out[B_SHA256_HEX], struct b_err *err)
{
	unsigned char raw[RAW];
	size_t n = sizeof raw;

	if (EVP_PKEY_get_raw_public_key(key, raw, &n) != 1 || n != sizeof raw)
		return b_fail(err, B_SYSTEM, 0, "OpenSSL cannot read the key");
	b_sha256_hex(raw, n, out);
	return 0;
}

int bun_key_id(const char *path, char out[B_SHA256_HEX], struct b_err *err)
{
	b_auto(free_key) EVP_PKEY *key = load_key(path, false, err);

	return key ? id_of(key, out, err) : -1;
}

int bun_verify(const char *path, const struct b_str *payload,
	       const unsigned char signature[BUN_SIGNATURE], char out_id[B_SHA256_HEX],
	       struct b_err *err)
{
	b_auto(free_key) EVP_PKEY *key = load_key(path, false, err);
	b_auto(free_context) EVP_MD_CTX *c = EVP_MD_CTX_new();
	b_auto(b_str_release) struct b_str text = {0};

	if (!key || id_of(key, out_id, err) < 0)
		return -1;
	whole(payload, &text);
	if (!c || EVP_DigestVerifyInit(c, NULL, NULL, NULL, key) != 1)
		return b_fail(err, B_SYSTEM, 0, "OpenSSL cannot verify");
	if (EVP_DigestVerify(c, signature, BUN_SIGNATURE, (const unsigned char *)text.s,
			     text.len) != 1)
		return b_fail(err, B_POLICY, 0,
			      "the signature is wrong: the bundle was changed, or signed with a "
			      "key other than %s",
			      path);
	return 0;
}
