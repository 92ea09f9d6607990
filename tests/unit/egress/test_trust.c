/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/trust.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "egress/authority.h"

static char dir[] = "/tmp/sbx-trust.XXXXXX", path[64];

static void prepare(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/5ed36f99.0", dir);
}

static void clean(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}
TestSuite(egress_trust, .init = prepare, .fini = clean);

/* Two authorities, a key, and what else may stand in a file. */
static void write_file(bool with_key)
{
	FILE *f = fopen(path, "we");
	struct b_err err;

	fputs("# comment\nsecret=hunter2\n", f);
	for (int i = 0; i < 2; i++) {
		struct egr_authority *a = egr_authority_new(&err);

		fprintf(f, "\nAuthority %d\n=====\n", i);
		PEM_write_X509(f, egr_authority_cert(a));
		if (with_key)
			PEM_write_PrivateKey(f, egr_authority_leaf_key(a), NULL, NULL, 0, NULL,
					     NULL);
		egr_authority_free(a);
	}
	fputs("more secrets\n", f);
	cr_assert_eq(fclose(f), 0);
}

static size_t read_back(int fd, char *out, size_t room)
{
	ssize_t n;

	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	n = b_read_full(fd, out, room - 1);
	cr_assert_geq(n, 0);
	out[n] = '\0';
	return (size_t)n;
}

Test(egress_trust, of_a_file_certificates_alone_come_out)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	static char text[65536];
	struct egr_trust t = {0};

	write_file(true);
	cr_expect_eq(egr_trust_read(&t, path), 2);
	cr_expect_eq(egr_trust_read(&t, path), 2, "once more");
	cr_assert_eq(t.n, 2, "and not twice");
	cr_assert_eq(egr_trust_write_pem(&t, 0, fd), 0);
	read_back(fd, text, sizeof text);
	cr_expect(strncmp(text, "-----BEGIN CERTIFICATE-----\n", 28) == 0);
	cr_expect_null(strstr(text, "KEY"));
	cr_expect_null(strstr(text, "secret"));
	cr_expect_null(strstr(text, "Authority"));
	cr_assert_eq(ftruncate(fd, 0) + lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(egr_trust_write_pem(&t, 1, fd), 0);
	cr_expect_lt(read_back(fd, text, sizeof text), 1000u, "one");
	egr_trust_release(&t);
	close(fd);
}

Test(egress_trust, what_is_no_file_of_certificates_is_nothing)
{
	struct egr_trust t = {0};

	cr_expect_eq(egr_trust_read(&t, path), 0, "not there");
	cr_expect_eq(egr_trust_read(&t, dir), 0, "a directory");
	cr_expect_eq(egr_trust_read(&t, "etc/passwd"), 0, "not absolute");
	cr_expect_eq(egr_trust_read(&t, "/etc/passwd"), 0);
	cr_expect_eq(egr_trust_read(&t, "/dev/zero"), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(egr_trust_read(&t, path), 0, "nobody waits for who writes");
	cr_expect_eq(t.n, 0);
}

Test(egress_trust, the_launchers_variables_say_where_they_are)
{
	struct egr_trust t = {0};
	char other[64];

	write_file(false);
	clearenv();
	setenv("SSL_CERT_FILE", path, 1);
	egr_trust_find(&t);
	cr_expect_eq(t.n, 2);
	cr_expect_eq(t.nhosts, 2);
	egr_trust_release(&t);
	clearenv();
	setenv("SSL_CERT_DIR", dir, 1);
	egr_trust_find(&t);
	cr_expect_eq(t.nhosts, 2);
	egr_trust_release(&t);
	snprintf(other, sizeof other, "%s/file.pem", dir);
	cr_assert_eq(rename(path, other), 0);
	egr_trust_find(&t);
	cr_expect_neq(t.nhosts, 2, "a name that says no hash");
	egr_trust_release(&t);
	cr_assert_eq(rename(other, path), 0);
	clearenv();
	setenv("NODE_EXTRA_CA_CERTS", path, 1);
	egr_trust_find(&t);
	cr_expect_eq(t.n, t.nhosts + 2, "beside the host's");
	egr_trust_release(&t);
}

/* java.security.KeyStore checks the sum with the password, and its lengths without. */
Test(egress_trust, java_can_read_it)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	static unsigned char text[65536];
	unsigned char hash[EVP_MAX_MD_SIZE];
	struct egr_trust t = {0};
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	size_t n;

	write_file(false);
	egr_trust_read(&t, path);
	cr_assert_eq(egr_trust_write_java(&t, fd), 0);
	n = read_back(fd, (char *)text, sizeof text);
	cr_expect_arr_eq(text,
			 "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2\0\0\0\2\0\1"
			 "0",
			 19);
	cr_assert(EVP_DigestInit_ex(md, EVP_sha1(), NULL));
	EVP_DigestUpdate(md, "\0c\0h\0a\0n\0g\0e\0i\0t", 16);
	EVP_DigestUpdate(md, "Mighty Aphrodite", 16);
	EVP_DigestUpdate(md, text, n - 20);
	EVP_DigestFinal_ex(md, hash, NULL);
	cr_expect_arr_eq(hash, text + n - 20, 20);
	EVP_MD_CTX_free(md);
	egr_trust_release(&t);
	close(fd);
}

Test(egress_trust, a_store_of_them_knows_each)
{
	struct egr_trust t = {0};
	X509_STORE *store;

	write_file(false);
	egr_trust_read(&t, path);
	cr_expect(egr_trust_add(&t, (const unsigned char *)"junk", 4));
	store = egr_trust_store(&t);
	cr_assert(store);
	cr_expect_eq(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 2);
	X509_STORE_free(store);
	egr_trust_take_back(&t);
	cr_expect_eq(t.n, 2);
	egr_trust_release(&t);
}
