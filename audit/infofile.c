/* infofile.c - see infofile.h. */
#include "audit/infofile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum { PAGE = 4096 };

static int replace(const struct aud_rundir *dir, const struct b_str *text, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s/" AUD_INFO_NAME, dir->path);
	return b_write_file(path.s, 0600, text->s, text->len, false, err);
}

/* A shorter text than before must leave nothing of that behind it: JSON may end in blanks. */
static void pad(struct b_str *text, size_t len)
{
	if (text->len >= len || !text->len)
		return;
	text->s[text->len - 1] = ' ';
	while (text->len + 1 < len)
		b_str_addc(text, ' ');
	b_str_addc(text, '\n');
}

int aud_infofile_put(struct aud_infofile *f, const struct aud_rundir *dir, struct b_str *text,
		     struct b_err *err)
{
	ssize_t n;

	if (text->len > PAGE || f->len > PAGE) {
		aud_infofile_release(f);
		f->len = PAGE + 1; /* from now on */
		return replace(dir, text, err);
	}
	if (f->fd < 0)
		f->fd = openat(dir->dirfd, AUD_INFO_NAME,
			       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	pad(text, f->len);
	n = f->fd < 0 ? -1 : pwrite(f->fd, text->s, text->len, 0);
	if (n != (ssize_t)text->len) {
		int why = n < 0 ? errno : ENOSPC;

		/* the beginning alone is nothing that could be read */
		if (f->fd >= 0 && n >= 0)
			(void)!ftruncate(f->fd, 0);
		return b_fail(err, B_SYSTEM, why, "%s/" AUD_INFO_NAME ": %s", dir->path,
			      strerror(why));
	}
	f->len = text->len;
	return 0;
}

void aud_infofile_release(struct aud_infofile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct aud_infofile){.fd = -1};
}
