/* prove.c - see prove.h. */
#include "shim/prove.h"

#include "shim/linux/sys.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

enum { LINKS_MAX = 8, LINK_SIZE = 512, HOLD = O_PATH | O_CLOEXEC };

/* The kernel resolves; /proc tells what it found. */
static int hold_by_kernel(int dirfd, const char *path, char *buf, size_t *out_len)
{
	int fd = sys_openat(dirfd, path, HOLD, 0);

	*out_len = fd >= 0 ? shim_fd_text(fd, buf) : 0;
	return fd;
}

/* In a sticky directory anybody may write to, the kernel follows only links of certain owners
 * (fs.protected_symlinks): that question stays with the kernel. */
static long read_link(int parent, const char *name, char *link)
{
	struct stat st;
	long n;

	if (sys_fstat(parent, &st) < 0 || (st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH))
		return -EACCES;
	n = sys_readlinkat(parent, name, link, LINK_SIZE - 1);
	if (n <= 0 || n >= LINK_SIZE - 1)
		return -EINVAL;
	link[n] = '\0';
	return n;
}

static bool has_dots(const char *p)
{
	for (; *p; p++)
		if (p[0] == '.' && p[1] == '.')
			return true;
	return false;
}

/* Replaces the last component of buf, whose parent is proven, by where its link points. ".."
 * may be folded at the front of the link only: there it stands on the proven parent. */
static bool follow(char *buf, size_t *len)
{
	char link[LINK_SIZE];
	const char *rest = link;
	size_t parent = sbx_path_parent(buf, *len), name = parent == 1 ? 1 : parent + 1;
	struct shim_text t;
	int fd;
	long n;

	if (parent > 1)
		buf[parent] = '\0';
	fd = sys_open_proven(AT_FDCWD, parent > 1 ? buf : "/", HOLD | O_DIRECTORY, 0);
	if (parent > 1)
		buf[parent] = '/';
	if (fd < 0)
		return false;
	n = read_link(fd, buf + name, link);
	sys_close(fd);
	if (n < 0)
		return false;
	if (link[0] == '/') {
		t = shim_text(buf, AT_FDCWD, link);
		*len = t.len;
		return t.len && !(t.flags & SBX_PATH_DOTDOT);
	}
	for (; shim_has_prefix(rest, "../"); rest += 3)
		parent = sbx_path_parent(buf, parent);
	if (!*rest || has_dots(rest))
		return false;
	*len = parent == 1 ? 0 : parent;
	return shim_append(buf, SBX_PATH_MAX, len, "/", 1) &&
	       shim_append(buf, SBX_PATH_MAX, len, rest, strlen(rest));
}

int shim_hold(int dirfd, const char *path, char *buf, size_t *out_len)
{
	struct shim_text t;
	int links;

	if (atomic_load(&shim.no_openat2))
		return hold_by_kernel(dirfd, path, buf, out_len);
	t = shim_text(buf, dirfd, path);
	/* links in /proc are not texts but jumps */
	if (!t.len || t.flags & (SBX_PATH_DOTDOT | SBX_PATH_MAGIC | SBX_PATH_TRAILING))
		return hold_by_kernel(dirfd, path, buf, out_len);
	for (links = 0; links < LINKS_MAX; links++) {
		int fd = sys_open_proven(AT_FDCWD, buf, HOLD, 0);

		if (fd >= 0) {
			*out_len = t.len;
			return fd;
		}
		if (fd != -ELOOP || !follow(buf, &t.len) || shim_has_prefix(buf, "/proc/"))
			break;
	}
	return hold_by_kernel(dirfd, path, buf, out_len);
}
