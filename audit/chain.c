/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c - see chain.h. */
#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

static void show(struct aud_chain *c)
{
	memcpy(c->shown, c->full, AUD_CHAIN_HEX);
	c->shown[AUD_CHAIN_HEX] = '\0';
}

void aud_chain_init(struct aud_chain *c, const unsigned char *key, const char *run_id)
{
	static const unsigned char none[B_HMAC_KEY];
	unsigned char own[B_HMAC_KEY];
	struct b_hmac all;

	b_hmac_init(&all, key ? key : none);
	b_hmac_key(&all, run_id, strlen(run_id), own);
	b_hmac_init(&c->mac, own);
	b_hmac_hex(&c->mac, "", 0, "", 0, c->full); /* where the chain begins, which no line says */
	show(c);
	memcpy(c->full, AUD_CHAIN_START, sizeof c->full);
}

void aud_chain_next(struct aud_chain *c, const char *text, size_t len)
{
	b_hmac_hex(&c->mac, c->shown, AUD_CHAIN_HEX, text, len, c->full);
	show(c);
}

/* ---- the key ---- */

static int read_key(const char *path, unsigned char out[B_HMAC_KEY], struct b_err *err)
{
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return b_fail(err, errno == ENOENT ? B_NOTFOUND : B_AUDIT, errno, "%s: %s", path,
			      strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077 || st.st_size != B_HMAC_KEY ||
	    b_read_full(fd, out, B_HMAC_KEY) != B_HMAC_KEY)
		return b_fail(err, B_AUDIT, 0,
			      "%s: not a key of %d bytes that only its owner may read: remove it",
			      path, B_HMAC_KEY);
	return 0;
}

static int random_key(unsigned char out[B_HMAC_KEY], struct b_err *err)
{
	b_auto_fd int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || b_read_full(fd, out, B_HMAC_KEY) != B_HMAC_KEY)
		return b_fail(err, B_AUDIT, errno, "/dev/urandom: %s", strerror(errno));
	return 0;
}

/* Of launchers that start at once one makes the key that all take: link(2) replaces nothing. */
static int make_key(const char *path, struct b_err *err)
{
	b_auto(b_str_release) struct b_str temporary = {0};
	unsigned char key[B_HMAC_KEY];
	int rc = 0;

	if (random_key(key, err) < 0)
		return -1;
	b_str_addf(&temporary, "%s-%d", path, (int)getpid());
	if (b_write_file(temporary.s, 0600, key, sizeof key, false, err) < 0)
		return b_fail(err, B_AUDIT, err->sys,
			      "no place for the run's log: %s: %s: set XDG_STATE_HOME or use "
			      "--audit-level none",
			      path, strerror(err->sys));
	if (link(temporary.s, path) < 0 && errno != EEXIST)
		rc = b_fail(err, B_AUDIT, errno, "%s: %s", path, strerror(errno));
	unlink(temporary.s);
	return rc;
}

int aud_key_load(const char *runs_root, bool make, unsigned char out[B_HMAC_KEY], struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s/" AUD_KEY_NAME, runs_root);
	if (read_key(path.s, out, err) == 0)
		return 0;
	if (!make || err->kind != B_NOTFOUND)
		return -1;
	return make_key(path.s, err) < 0 ? -1 : read_key(path.s, out, err);
}
