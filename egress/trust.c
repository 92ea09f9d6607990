/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - see trust.h. */
#include "egress/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "egress/door.h"

#define FILE_MAX   (8u << 20)
#define CERTS_MAX  4096u
#define DIR_MAX	   4096u /* names of a directory */
#define CERT_BYTES 65535u

/* Distributions have it in different places. */
static const char *const usual[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* ---- reading ---- */

static bool has(const struct egr_trust *t, const unsigned char *der, size_t len)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].len == len && memcmp(t->v[i].data, der, len) == 0)
			return true;
	return false;
}

/* Takes `der`, or frees it. */
static bool take(struct egr_trust *t, unsigned char *der, size_t len)
{
	if (len == 0 || len > CERT_BYTES || t->n >= CERTS_MAX || has(t, der, len)) {
		OPENSSL_free(der);
		return false;
	}
	b_grow(t->v, t->n, t->cap);
	t->v[t->n++] = (struct egr_der){der, len};
	return true;
}

bool egr_trust_add(struct egr_trust *t, const unsigned char *der, size_t len)
{
	unsigned char *copy = OPENSSL_memdup(der, len);

	return copy && take(t, copy, len);
}

void egr_trust_take_back(struct egr_trust *t)
{
	OPENSSL_free(t->v[--t->n].data);
}

void egr_trust_release(struct egr_trust *t)
{
	for (size_t i = 0; i < t->n; i++)
		OPENSSL_free(t->v[i].data);
	free(t->v);
	free(t->file);
	*t = (struct egr_trust){0};
}

static bool is_certificate(const char *name)
{
	return strcmp(name, PEM_STRING_X509) == 0 || strcmp(name, PEM_STRING_X509_OLD) == 0;
}

/* A damaged block ends it: what follows cannot be told from it. */
static size_t take_blocks(struct egr_trust *t, const char *text, size_t len)
{
	BIO *in = BIO_new_mem_buf(text, (int)len);
	char *name, *header;
	unsigned char *data;
	size_t found = 0;
	long n;

	while (in && PEM_read_bio(in, &name, &header, &data, &n)) {
		if (is_certificate(name)) {
			(void)take(t, data, (size_t)n);
			found++;
		} else {
			OPENSSL_clear_free(data, (size_t)n);
		}
		OPENSSL_free(name);
		OPENSSL_free(header);
	}
	ERR_clear_error();
	BIO_free(in);
	return found;
}

/* NULL: it was not read yet. */
static const struct egr_trust_file *known(const struct egr_trust *t, const struct stat *st)
{
	for (size_t i = 0; i < t->nfiles; i++)
		if (t->file[i].dev == st->st_dev && t->file[i].ino == st->st_ino)
			return &t->file[i];
	return NULL;
}

static size_t read_at(struct egr_trust *t, int dir, const char *path)
{
	const struct egr_trust_file *seen;
	struct egr_trust_file now = {0};
	b_auto_fd int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	b_auto_free char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX)
		return 0;
	seen = known(t, &st);
	if (seen)
		return seen->found;
	text = b_malloc((size_t)st.st_size + 1);
	n = b_read_full(fd, text, (size_t)st.st_size);
	now = (struct egr_trust_file){st.st_dev, st.st_ino,
				      n > 0 ? take_blocks(t, text, (size_t)n) : 0};
	b_grow(t->file, t->nfiles, t->files_cap);
	t->file[t->nfiles++] = now;
	return now.found;
}

size_t egr_trust_read(struct egr_trust *t, const char *path)
{
	return *path == '/' ? read_at(t, AT_FDCWD, path) : 0;
}

/* "5ed36f99.0": other names of a directory are not looked at (openssl-rehash(1)). */
static bool is_hashed(const char *name)
{
	size_t n = strspn(name, "0123456789abcdefABCDEF");

	return n == 8 && name[8] == '.' && name[9] &&
	       name[9 + strspn(name + 9, "0123456789")] == '\0';
}

static size_t read_directory(struct egr_trust *t, const char *path)
{
	DIR *d = *path == '/' ? opendir(path) : NULL;
	const struct dirent *one;
	size_t found = 0;

	for (unsigned i = 0; d && i < DIR_MAX && (one = readdir(d)); i++)
		if (is_hashed(one->d_name))
			found += read_at(t, dirfd(d), one->d_name);
	if (d)
		closedir(d);
	return found;
}

static void find_hosts(struct egr_trust *t)
{
	const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
	size_t found = file ? egr_trust_read(t, file) : 0;

	if (dir)
		found += read_directory(t, dir);
	for (size_t i = 0; !found && i < sizeof usual / sizeof *usual; i++)
		found = egr_trust_read(t, usual[i]);
}

void egr_trust_find(struct egr_trust *t)
{
	static const char *const vars[] = {
#define X(name, what) #name,
		EGR_TRUST_VARS(X)
#undef X
	};

	find_hosts(t);
	t->nhosts = t->n;
	for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) {
		const char *path = getenv(vars[i]);

		if (path)
			(void)egr_trust_read(t, path);
	}
}

/* ---- for clients ---- */

int egr_trust_write_pem(const struct egr_trust *t, size_t from, int fd)
{
	BIO *out = BIO_new(BIO_s_mem());
	bool ok = out != NULL;
	char *text;
	long len;

	for (size_t i = from; ok && i < t->n; i++)
		ok = PEM_write_bio(out, PEM_STRING_X509, "", t->v[i].data, (long)t->v[i].len) > 0;
	if (!ok)
		errno = ENOMEM;
	len = ok ? BIO_get_mem_data(out, &text) : 0;
	ok = ok && (len == 0 || b_write_all(fd, text, (size_t)len) == 0);
	BIO_free(out);
	return ok ? 0 : -1;
}

static void put(struct b_str *out, uint64_t v, unsigned bytes)
{
	while (bytes)
		b_str_addc(out, (char)(v >> --bytes * 8));
}

/* sun.security.provider.JavaKeyStore: java.io.DataOutput's shape, and behind it SHA-1 of the
 * password in UTF-16, a phrase, and all of it. */
int egr_trust_write_java(const struct egr_trust *t, int fd)
{
	static const char key[] = "\0c\0h\0a\0n\0g\0e\0i\0t"
				  "Mighty Aphrodite";
	b_auto(b_str_release) struct b_str out = {0}, whole = {0};
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	put(&out, 0xfeedfeed, 4);
	put(&out, 2, 4); /* the version */
	put(&out, t->n, 4);
	for (size_t i = 0; i < t->n; i++) {
		char alias[24];
		int n = snprintf(alias, sizeof alias, "%zu", i);

		put(&out, 2, 4); /* a certificate that is trusted */
		put(&out, (uint64_t)n, 2);
		b_str_addn(&out, alias, (size_t)n);
		put(&out, 0, 8); /* since when */
		put(&out, 5, 2);
		b_str_add(&out, "X.509");
		put(&out, t->v[i].len, 4);
		b_str_addn(&out, (const char *)t->v[i].data, t->v[i].len);
	}
	b_str_addn(&whole, key, sizeof key - 1);
	b_str_addn(&whole, out.s, out.len);
	if (!EVP_Digest(whole.s, whole.len, hash, &len, EVP_sha1(), NULL))
		return errno = EIO, -1;
	b_str_addn(&out, (const char *)hash, len);
	return b_write_all(fd, out.s, out.len);
}

X509_STORE *egr_trust_store(const struct egr_trust *t)
{
	X509_STORE *store = X509_STORE_new();

	for (size_t i = 0; store && i < t->n; i++) {
		const unsigned char *p = t->v[i].data;
		X509 *x = d2i_X509(NULL, &p, (long)t->v[i].len);

		if (x)
			(void)X509_STORE_add_cert(store, x);
		X509_free(x);
	}
	ERR_clear_error();
	return store;
}
