/* imgcache.c - see imgcache.h. A file is the image and, behind it, its SHA-256 in hex. */
#include "policy/imgcache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "core/image.h"
#include "policy/ruleset.h"

enum { HASH_LEN = B_SHA256_HEX - 1 };

/* ---- the key ---- */

static void add_string(struct b_str *out, const char *s)
{
	b_str_addn(out, s ? s : "", (s ? strlen(s) : 0) + 1);
}

static void add_list(struct b_str *out, const struct pol_list *list)
{
	uint64_t n = list->n;
	size_t i;

	b_str_addn(out, &n, sizeof n);
	for (i = 0; i < list->n; i++) {
		const struct pol_rule *r = &list->v[i];

		b_str_addc(out, (char)(r->allow | r->base_is_root << 1 | r->twin << 2));
		b_str_addc(out, (char)r->shape);
		b_str_addc(out, (char)r->tier);
		add_string(out, r->base);
		add_string(out, r->glob);
		add_string(out, r->matched);
		add_string(out, r->origin);
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

void pol_imgcache_key(const struct pol_ruleset *rs, const struct pol_compile_opts *opts,
		      char out[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str text = {0};
	size_t i;

	add_program(&text);
	add_string(&text, rs->profile);
	for (i = 0; i < SBX_OP_COUNT; i++)
		add_list(&text, &rs->op[i]);
	for (i = 0; i < opts->naliases; i++) {
		add_string(&text, opts->aliases[i].from);
		add_string(&text, opts->aliases[i].to);
	}
	b_str_addc(&text, (char)opts->deny_on_error);
	b_sha256_hex(text.s, text.len, out);
}

/* ---- files ---- */

bool pol_imgcache_get(const char *dir, const char *key, void **out_map, size_t *out_map_size,
		      size_t *out_size, char out_hash[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_fd int fd = -1;
	struct stat st;
	size_t size;
	char *map;

	b_str_addf(&path, "%s/%s", dir, key);
	fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size <= HASH_LEN)
		return false;
	size = (size_t)st.st_size;
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	*out_map = map;
	*out_map_size = size;
	*out_size = size - HASH_LEN;
	memcpy(out_hash, map + *out_size, HASH_LEN);
	out_hash[HASH_LEN] = '\0';
	return true;
}

/* Removes the oldest file. */
static void drop_oldest(int at, DIR *dir)
{
	struct timespec best = {0};
	char name[B_SHA256_HEX] = "";
	struct dirent *e;
	struct stat st;

	rewinddir(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof name ||
		    fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!*name || st.st_mtim.tv_sec < best.tv_sec ||
		    (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec < best.tv_nsec)) {
			best = st.st_mtim;
			strcpy(name, e->d_name);
		}
	}
	if (*name)
		(void)unlinkat(at, name, 0);
}

static void trim(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	unsigned n = 0;

	if (!dir)
		return;
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (n > POL_CACHE_KEEP)
		drop_oldest(dirfd(dir), dir);
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
	b_auto(b_str_release) struct b_str path = {0}, data = {0};

	/* In a run inside a run it is closed to us: open(2) says so, unlike access(2). */
	if (b_mkdirs(dir, NULL) < 0 || !can_open(dir))
		return;
	b_str_addf(&path, "%s/%s", dir, key);
	b_str_addn(&data, image, size);
	b_str_addn(&data, hash, HASH_LEN);
	if (b_write_file(path.s, 0600, data.s, data.len, false, NULL) == 0)
		trim(dir);
}
