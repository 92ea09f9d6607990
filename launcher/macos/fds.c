/* fds.c - see fds.h. */
#include "launcher/macos/fds.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

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
