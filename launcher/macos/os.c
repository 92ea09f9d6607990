/* SPDX-License-Identifier: Apache-2.0 */
/* os.c - what the portable parts ask of this system: accounts, descriptors, images, abilities. */
#include "launcher/run/os.h"

#include <errno.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/macos/seatbelt.h"
#include "launcher/plan/program.h"
#include "launcher/report/host.h"
#include "launcher/report/report.h"

/* Fcntl(2) of macOS. */

int lau_os_rename_new(int from, int to, const char *name)
{
	return renameatx_np(from, name, to, name, RENAME_EXCL);
}

/* Access lists are seen by acl_get_fd_np(3) alone, so none is taken for plain: directories are
 * made anew. */
bool lau_os_is_plain_dir(int fd)
{
	(void)fd;
	return false;
}

bool lau_os_fd_path(int fd, char *path, size_t size)
{
	return size >= PATH_MAX && fcntl(fd, F_GETPATH, path) == 0;
}

bool lau_os_own_path(char *path, size_t size)
{
	char given[PATH_MAX], *real;
	uint32_t n = sizeof given;

	if (_NSGetExecutablePath(given, &n) != 0)
		return false;
	real = realpath(given, NULL);
	n = real ? (uint32_t)strlen(real) : UINT32_MAX;
	if (n < size)
		memcpy(path, real, n + 1);
	free(real);
	return n < size;
}

/* There is none to be found on macOS: the ring lies on disk, in the buffer cache. */
bool lau_os_is_memory(const char *dir, unsigned long long need)
{
	(void)dir, (void)need;
	return false;
}

/* Behind the end of what is allocated already; the size of the file stays. */
int lau_os_reserve(int fd, off_t size)
{
	fstore_t want = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return errno;
	want.fst_length = size - (off_t)st.st_blocks * 512;
	if (want.fst_length <= 0 || fcntl(fd, F_PREALLOCATE, &want) == 0)
		return 0;
	return errno == ENOTSUP ? 0 : errno; /* a file system without it grows as it is written */
}

/* Nobody but a parent is told there. */
struct lau_ends *lau_os_ends_new(pid_t init)
{
	(void)init;
	return NULL;
}

void lau_os_ends_free(struct lau_ends *e)
{
	(void)e;
}

void lau_os_ends_watch(void *ends, uint32_t pid)
{
	(void)ends;
	(void)pid;
}

bool lau_os_ends_next(void *ends, uint32_t *out_pid, int *out_status)
{
	(void)ends;
	(void)out_pid;
	(void)out_status;
	return false;
}

aud_kin_fn *const lau_os_kin; /* parents change to launchd's when theirs end */

char *const *lau_os_environ(void)
{
	return environ;
}

/* Getpwuid(3) of macOS asks a daemon and loads nothing. */

bool b_account_home(uid_t uid, struct b_str *out)
{
	const struct passwd *pw = getpwuid(uid);

	if (!pw || pw->pw_dir[0] != '/')
		return false;
	b_str_add(out, pw->pw_dir);
	return true;
}

/* ---- descriptors ---- */

enum { MOST = 10240 /* OPEN_MAX of macOS */ };

static bool is_kept(int fd, const int *keep, size_t nkeep)
{
	struct stat st;

	for (size_t i = 0; i < nkeep; i++)
		if (keep[i] == fd)
			return true;
	/* a jobserver, a process substitution */
	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

void lau_fds_close(const int *keep, size_t nkeep)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most <= 0 || most > MOST)
		most = MOST;
	for (int fd = STDERR_FILENO + 1; fd < most; fd++)
		if (!is_kept(fd, keep, nkeep))
			close(fd);
}

/* ---- images ---- */

enum sbx_exec_class lau_exec_class(const char *file)
{
	char name[] = "x", *argv[] = {name, NULL};
	enum sbx_exec_class cls;
	struct lau_target t;

	lau_target_find(file, argv, getenv("PATH"), &t);
	cls = t.cls;
	lau_target_release(&t);
	return cls;
}

/* What this Mac can do. */

unsigned lau_macos_release(void)
{
	char text[32] = "";
	size_t n = sizeof text - 1;
	unsigned major = 0, minor = 0, *part = &major;

	if (sysctlbyname("kern.osproductversion", text, &n, NULL, 0) != 0)
		return 0;
	for (const char *p = text; *p; p++) {
		if (*p == '.' && part == &minor)
			break;
		if (*p == '.')
			part = &minor;
		else if (*p < '0' || *p > '9' || *part > 99)
			return 0;
		else
			*part = *part * 10 + (unsigned)(*p - '0');
	}
	return major * 100 + minor;
}

bool lau_host_has_net_ns(void)
{
	return false;
}

void lau_host_quick(struct lau_host *h)
{
	*h = (struct lau_host){.is_root = geteuid() == 0};
}

void lau_host_probe(struct lau_host *h)
{
	lau_host_quick(h);
}

void lau_host_show(const struct lau_host *h, bool json, bool colour, struct b_str *out)
{
	unsigned release = lau_macos_release();
	struct b_err err = {.kind = B_OK};
	bool has = lau_seatbelt_probe(LAU_BACKEND_SANDBOX_EXEC, &err) == 0;

	(void)h, (void)colour;
	if (json) {
		struct b_json j = {.out = out};

		b_json_open(&j, '{');
		b_json_key(&j, "macos");
		b_json_u64(&j, release);
		b_json_key(&j, "seatbelt");
		b_json_bool(&j, has);
		if (!has) {
			b_json_key(&j, "why");
			b_json_str(&j, err.msg);
		}
		b_json_close(&j, '}');
		b_str_addc(out, '\n');
		return;
	}
	b_str_addf(out, "macOS     %u.%u\n", release / 100, release % 100);
	b_str_addf(out, "seatbelt  %s%s\n", has ? "yes" : "NO: ", has ? "" : err.msg);
}

/* System programs drop DYLD_INSERT_LIBRARIES on macOS, the
 * shells first of all: an environment cannot carry the shim there. */

int lau_print_env(const struct lau_options *o)
{
	struct b_err err;

	(void)o;
	b_fail(&err, B_USAGE, 0,
	       "--print-env: macOS takes the shim out of the environment of its own programs: put "
	       "sbx-launch before the command");
	(void)b_write_all(STDOUT_FILENO, LAU_PRINT_ENV_STOP, sizeof LAU_PRINT_ENV_STOP - 1);
	return b_report("sbx-launch", &err);
}

/* The attacks are those of Linux. On a Mac tests/mac/smoke.sh
 * asks the questions that matter there. */

int lau_selftest(int argc, char **argv, const struct lau_options *o)
{
	struct b_err err;

	(void)argc, (void)argv, (void)o;
	b_fail(&err, B_USAGE, 0, "--selftest: has no attacks for macOS: run tests/mac/smoke.sh");
	return b_report("sbx-launch", &err);
}

/* Denials are printed as they come. */
bool lau_os_is_screen_taken(void)
{
	return false;
}
