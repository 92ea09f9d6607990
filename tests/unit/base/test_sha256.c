/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/sha256.c: the examples of FIPS 180-4. */
#include "base/sha256.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"

Test(base_sha256, known_digests)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[B_SHA256_HEX];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		b_sha256_hex(rows[i].text, strlen(rows[i].text), hex);
		cr_expect_str_eq(hex, rows[i].hex, "%s", rows[i].text);
	}
}

Test(base_sha256, nothing_at_all_may_be_null)
{
	char hex[B_SHA256_HEX];

	b_sha256_hex(NULL, 0, hex);
	cr_expect_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

Test(base_sha256, a_million_letters)
{
	enum { MILLION = 1000000 };
	char hex[B_SHA256_HEX], *text = b_malloc(MILLION);

	memset(text, 'a', MILLION);
	b_sha256_hex(text, MILLION, hex);
	free(text);
	cr_expect_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(base_sha256, bytes_behind_a_nul_count)
{
	char a[B_SHA256_HEX], b[B_SHA256_HEX];

	b_sha256_hex("a\0b", 3, a);
	b_sha256_hex("a\0c", 3, b);
	cr_expect_str_neq(a, b);
}

/* RFC 4231, 4.2 and 4.3: a key shorter than a block is one with zeros behind it. */
Test(base_sha256, known_authentication_codes)
{
	unsigned char ones[B_HMAC_KEY] = {0}, jefe[B_HMAC_KEY] = "Jefe", key[B_HMAC_KEY];
	char hex[B_SHA256_HEX];
	struct b_hmac m;

	memset(ones, 0x0b, 20);
	b_hmac_init(&m, ones);
	b_hmac_hex(&m, "Hi ", 3, "There", 5, hex);
	cr_expect_str_eq(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	b_hmac_init(&m, jefe);
	b_hmac_hex(&m, "what do ya want for nothing?", 28, "", 0, hex);
	cr_expect_str_eq(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	b_hmac_key(&m, "what do ya want for nothing?", 28, key);
	cr_expect_eq(key[0], 0x5b);
	cr_expect_eq(key[31], 0x43);
}
