/* SPDX-License-Identifier: Apache-2.0 */
/* imgcache.c - see bundle.h. */
#include "policy/compile/imgcache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/image.h"
#include "policy/compile/ruleset.h"

enum { HASH_LEN = B_SHA256_HEX - 1 };

/* ---- the key ---- */

static void add_string(struct b_sha256 *h, const char *s)
{
	b_sha256_update(h, s ? s : "", (s ? strlen(s) : 0) + 1);
}

static void add_list(struct b_sha256 *h, const struct pol_list *list)
{
	uint64_t n = list->n;
	size_t i;

	b_sha256_update(h, &n, sizeof n);
	for (i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];
		const unsigned char head[] = {(unsigned char)(r->allow | r->base_is_root << 1 |
							      r->twin << 2 | r->folds << 3),
					      (unsigned char)r->shape, (unsigned char)r->tier,
					      r->layer};

		b_sha256_update(h, head, sizeof head);
		add_string(h, r->base);
		add_string(h, r->glob);
		add_string(h, r->matched);
		add_string(h, r->origin);
	}
}

/* As pol_ruleset_copy() makes it: the strings are the same ones. */
static bool is_copy(const struct pol_list *a, const struct pol_list *b)
{
	return a->n && a->n == b->n && memcmp(a->v, b->v, a->n * sizeof *a->v) == 0;
}

static void add_lists(struct b_sha256 *h, const struct pol_ruleset *rs)
{
	for (unsigned i = 0; i < SBX_OP_COUNT; i++) {
		unsigned char same = i > 0 && is_copy(&rs->op[0], &rs->op[i]);

		b_sha256_update(h, &same, sizeof same);
		if (!same)
			add_list(h, &rs->op[i]);
	}
}

/* Another build of this program may compile the same rules to other bytes. */
static void add_program(struct b_str *out)
{
	struct stat st;

	if (stat("/proc/self/exe", &st) == 0)
		b_str_addf(out, "%ju %ju %jd.%09ld %jd ", (uintmax_t)st.st_dev,
			   (uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			   (intmax_t)st.st_size);
	b_str_addf(out, "%s %u", SBX_VERSION, SBX_IMAGE_VERSION);
}

static void hash_rules(const char *program, const struct pol_ruleset *rs,
		       const struct pol_compile_opts *opts, char out[B_SHA256_HEX])
{
	const unsigned char how[] = {opts->deny_on_error, opts->folds, opts->inside};
	struct b_sha256 h;
	size_t i;

	b_sha256_init(&h);
	add_string(&h, program);
	add_string(&h, rs->profile);
	add_lists(&h, rs);
	pol_endpoints_hash(&h, &rs->net);
	for (i = 0; i < opts->naliases; i++) {
		add_string(&h, opts->aliases[i].from);
		add_string(&h, opts->aliases[i].to);
	}
	b_sha256_update(&h, how, sizeof how);
	b_sha256_final(&h, out);
}

void pol_imgcache_key(const struct pol_ruleset *rs, const struct pol_compile_opts *opts,
		      char out[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str program = {0};

	add_program(&program);
	hash_rules(b_str_c(&program), rs, opts, out);
}

void pol_imgcache_rules_key(const struct pol_ruleset *rs, const struct pol_compile_opts *opts,
			    char out[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str version = {0};

	b_str_addf(&version, "%s %u", SBX_VERSION, SBX_IMAGE_VERSION);
	hash_rules(version.s, rs, opts, out);
}

/* ---- files ---- */

static bool is_hash(const char *name)
{
	return strlen(name) == HASH_LEN && strspn(name, "0123456789abcdef") == HASH_LEN;
}

static void add_link(struct b_str *out, const char *dir, const char *key)
{
	b_str_addf(out, "%s/key-%s", dir, key);
}

static bool map_image(struct pol_cached *c)
{
	struct stat st;

	/* A shared lock for the runs that use the image; drop_oldest() takes it exclusively. */
	if (flock(c->fd, LOCK_SH | LOCK_NB) < 0 || fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_nlink == 0 || st.st_size == 0)
		return false;
	c->size = (size_t)st.st_size;
	c->map = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, c->fd, 0);
	if (c->map == MAP_FAILED)
		c->map = NULL;
	return c->map != NULL;
}

bool pol_imgcache_get(const char *dir, const char *key, struct pol_cached *out)
{
	b_auto(b_str_release) struct b_str link = {0}, path = {0};
	ssize_t n;

	*out = (struct pol_cached){.fd = -1};
	add_link(&link, dir, key);
	n = readlink(link.s, out->hash, sizeof out->hash);
	if (n != HASH_LEN)
		return false;
	out->hash[n] = '\0';
	if (!is_hash(out->hash))
		return false;
	b_str_addf(&path, "%s/%s", dir, out->hash);
	out->path = b_str_take(&path);
	out->fd = open(out->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (out->fd >= 0 && map_image(out))
		return true;
	(void)unlink(out->path); /* no run can use it, and one can take its place */
	pol_cached_release(out);
	(void)unlink(link.s); /* its image was dropped */
	return false;
}

void pol_cached_release(struct pol_cached *c)
{
	if (c->map)
		munmap(c->map, c->size);
	if (c->fd >= 0)
		close(c->fd);
	free(c->path);
	*c = (struct pol_cached){.fd = -1};
}

/* ---- keeping few ---- */

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec < b->st_mtim.tv_sec ||
	       (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec < b->st_mtim.tv_nsec);
}

static bool is_unused(int at, const char *name)
{
	b_auto_fd int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static unsigned count(DIR *dir)
{
	const struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(dir)))
		n += is_hash(e->d_name);
	rewinddir(dir);
	return n;
}

/* A run that maps the image between the question and the removal has it mapped, and its later
 * processes go unwitnessed: microseconds, once in 32 new policies, and the floor holds. */
static void trim(const char *path)
{
	DIR *dir = opendir(path);
	struct stat st, oldest = {0};
	char name[B_SHA256_HEX] = "";
	bool is_crowded = dir && count(dir) > POL_CACHE_KEEP;
	const struct dirent *e;

	while (is_crowded && (e = readdir(dir))) {
		if (!is_hash(e->d_name))
			continue;
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (!*name || is_older(&st, &oldest)) && is_unused(dirfd(dir), e->d_name)) {
			strcpy(name, e->d_name);
			oldest = st;
		}
	}
	if (*name)
		(void)unlinkat(dirfd(dir), name, 0);
	if (dir)
		closedir(dir);
}

static bool can_open(const char *dir)
{
	b_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0;
}

void pol_imgcache_put(const char *dir, const char *key, const void *image, size_t size,
		      const char hash[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str link = {0}, path = {0};

	/* In a run inside a run it is closed to us: open(2) says so, unlike access(2). */
	if (b_mkdirs(dir, NULL) < 0 || !can_open(dir))
		return;
	b_str_addf(&path, "%s/%s", dir, hash);
	add_link(&link, dir, key);
	if (access(path.s, F_OK) < 0 && b_write_file(path.s, 0400, image, size, false, NULL) < 0)
		return;
	/* EEXIST: another run was first, and made the same. */
	if (symlink(hash, link.s) == 0)
		trim(dir);
}
