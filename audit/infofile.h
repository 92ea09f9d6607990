/*
 * infofile.h - run.json on its way: written when the command runs, and over itself when it has
 * ended. A new file for the second time (b_write_file()) would cost a start more than all other
 * writing of it where many files were removed lately: ext4 looks at each inode that was freed in
 * the last minutes before it takes one.
 *
 *	struct aud_infofile f = AUD_INFOFILE_INIT;
 *	aud_infofile_put(&f, &dir, &text, &err);	(as often as there is news)
 *	aud_infofile_release(&f);
 *
 * A text of up to a page goes in by one write, which no signal cuts in two; a longer one is
 * replaced. Who reads in that moment may meet a part of each and reads again (runload.c).
 */
#pragma once

#include <stddef.h>

struct aud_rundir;
struct b_err;
struct b_str;

struct aud_infofile {
	int fd; /* -1 = none yet, or replaced */
	size_t len;
};
#define AUD_INFOFILE_INIT                                                                          \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* The text, ended by a newline, may get blanks before that. B_SYSTEM. */
int aud_infofile_put(struct aud_infofile *, const struct aud_rundir *, struct b_str *text,
		     struct b_err *err);
void aud_infofile_release(struct aud_infofile *);
