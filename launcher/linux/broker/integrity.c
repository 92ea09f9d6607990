/* SPDX-License-Identifier: Apache-2.0 */
/* integrity.c - see integrity.h. */
#include "launcher/linux/broker/integrity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "launcher/linux/broker/broker.h"

#define BUCKETS	     1024u
#define PROGRAMS_MAX 8192u /* what is forgotten could be replaced: more are refused */
#define YOUNG_NS     UINT64_C(3000000000)
#define BYTES_MAX    ((off_t)1 << 30)
#define READ_MS	     5000
#define CHUNK	     ((size_t)256 << 10)

struct entry {
	struct entry *next;
	struct stat st;	 /* device, inode, size and time of change of it */
	bool is_settled; /* the next change shows in `st` */
	bool has_hash;	 /* else it is settled */
	char hash[B_SHA256_HEX];
	char *key;
};

struct br_integrity {
	pthread_mutex_t lock;
	unsigned n;
	struct entry *bucket[BUCKETS];
};

struct br_integrity *br_integrity_new(void)
{
	struct br_integrity *t = b_calloc(1, sizeof *t);

	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void br_program_set(struct br_program *p, const struct stat *st, bool connects)
{
	uint64_t changed =
		(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;

	*p = (struct br_program){
		.st = *st, .connects = connects, .is_young = changed + YOUNG_NS > b_now_real_ns()};
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct entry **place_of(struct br_integrity *t, const char *key)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
	struct entry **at;

	for (const char *s = key; *s; s++)
		hash = (hash ^ (unsigned char)*s) * UINT64_C(1099511628211);
	at = &t->bucket[hash % BUCKETS];
	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	return at;
}

static void take_hash(struct entry *e, const char *hash)
{
	memcpy(e->hash, hash, sizeof e->hash);
	e->has_hash = true;
}

static enum br_integrity_is first(struct br_integrity *t, struct entry **at, const char *key,
				  const struct br_program *p, enum br_reading r, const char *hash)
{
	struct entry *e;

	if (r == BR_READ_NOT && (p->connects || p->is_young))
		return BR_UNREAD;
	if (t->n == PROGRAMS_MAX || (r == BR_READ_FAILED && p->is_young))
		return BR_REPLACED;
	e = b_calloc(1, sizeof *e);
	e->key = b_strndup(key, strlen(key));
	e->st = p->st;
	e->is_settled = !p->is_young;
	if (r == BR_READ)
		take_hash(e, hash);
	*at = e;
	t->n++;
	return BR_INTACT;
}

static enum br_integrity_is again(struct entry *e, const struct br_program *p, enum br_reading r,
				  const char *hash)
{
	bool is_it = e->is_settled && is_same(&e->st, &p->st);

	if (is_it) {
		if (r == BR_READ_NOT && p->connects && !e->has_hash)
			return BR_UNREAD;
		if (r == BR_READ && !e->has_hash)
			take_hash(e, hash);
		return BR_INTACT;
	}
	if (r == BR_READ_NOT)
		return e->has_hash ? BR_UNREAD : BR_REPLACED;
	if (r == BR_READ_FAILED || !e->has_hash || strcmp(e->hash, hash) != 0)
		return BR_REPLACED;
	e->st = p->st; /* the same bytes in another place, or written again */
	e->is_settled = !p->is_young;
	return BR_INTACT;
}

enum br_integrity_is br_integrity_ask(struct br_integrity *t, const char *key,
				      const struct br_program *p, enum br_reading r,
				      const char hash[B_SHA256_HEX])
{
	enum br_integrity_is is;
	struct entry **at;

	pthread_mutex_lock(&t->lock);
	at = place_of(t, key);
	is = *at ? again(*at, p, r, hash) : first(t, at, key, p, r, hash);
	pthread_mutex_unlock(&t->lock);
	return is;
}

/* ---- its bytes ---- */

static bool read_all(struct br_call *c, int fd, char hash[B_SHA256_HEX])
{
	uint64_t until = b_now_ms() + READ_MS;
	b_auto_free unsigned char *chunk = b_calloc(1, CHUNK);
	struct b_sha256 h;
	ssize_t n;

	b_sha256_init(&h);
	for (;;) {
		n = read(fd, chunk, CHUNK);
		if (n == 0)
			break;
		/* a signal that waits for the caller also waits for this */
		if ((n < 0 && errno != EINTR) || b_now_ms() > until || !br_is_alive(c))
			return false;
		if (n > 0)
			b_sha256_update(&h, chunk, (size_t)n);
	}
	b_sha256_final(&h, hash);
	return true;
}

enum br_reading br_integrity_read(struct br_call *c, int pid, const struct br_program *p,
				  char hash[B_SHA256_HEX])
{
	struct stat before, after;
	b_auto_fd int fd = -1;
	char name[32];

	snprintf(name, sizeof name, "%d/exe", pid);
	fd = openat(c->b->proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &before) < 0 || !is_same(&before, &p->st) ||
	    before.st_size > BYTES_MAX || !read_all(c, fd, hash))
		return BR_READ_FAILED;
	return fstat(fd, &after) == 0 && is_same(&after, &p->st) ? BR_READ : BR_READ_FAILED;
}
