/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - sockets with a path, and libraries that are asked for by name. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/event.h"
#include "core/path.h"
#include "shim/paths_check.h"
#include "shim/judge.h"
#include "shim/macos/interpose.h"
#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/proc.h"

int connect_nocancel(int, const struct sockaddr *, socklen_t) __asm("_connect$NOCANCEL");

/* SOCK_MAXADDRLEN: paths may be longer than struct sockaddr_un has room for. */
enum { MAX_ADDRESS = 255, PATH_AT = offsetof(struct sockaddr_un, sun_path) };

/* The path of an address, NUL-terminated; NULL: it has none. */
static const char *socket_path(const struct sockaddr *addr, socklen_t len, char path[MAX_ADDRESS])
{
	const struct sockaddr_un *un = (const void *)addr;

	if (!shim_is_ready() || shim_is_no_pointer(addr) || len <= PATH_AT || len > MAX_ADDRESS ||
	    un->sun_family != AF_UNIX || !un->sun_path[0])
		return NULL;
	memcpy(path, un->sun_path, len - PATH_AT);
	path[len - PATH_AT] = '\0';
	return path;
}

/* As asked: other processes see the address as it was bound. */
static int shim_bind_call(int fd, const struct sockaddr *addr, socklen_t len)
{
	char buf[SBX_PATH_MAX], path[MAX_ADDRESS];
	struct shim_op op = {.call = SBX_CALL_bind,
			     .op = SBX_MODIFY,
			     .nends = 1,
			     .end = {{.path = buf,
				      .dirfd = AT_FDCWD,
				      .asked = socket_path(addr, len, path),
				      .how = SHIM_LAST | SHIM_NEW | SHIM_JUDGE_ONLY}}};

	if (!op.end[0].asked)
		return bind(fd, addr, len);
	if (shim_begin(&op) != SHIM_REFUSE)
		return shim_end(&op, bind(fd, addr, len));
	if (op.err == EEXIST)
		shim_set_errno(EADDRINUSE);
	return shim_end(&op, -1);
}

/* What is known of a connection before it is made: the socket's canonical path. */
struct connection {
	char buf[SBX_PATH_MAX];
	struct shim_told told;
	bool has_path;
};

static void look(struct connection *c, unsigned call, const struct sockaddr *addr, socklen_t len)
{
	char path[MAX_ADDRESS];
	struct shim_end e = {.path = c->buf,
			     .dirfd = AT_FDCWD,
			     .asked = socket_path(addr, len, path),
			     .how = SHIM_FOLLOW};

	c->has_path = e.asked && shim_find(&e) == 0;
	c->told = (struct shim_told){.call = call, .op = SBX_CONNECT, .path = c->buf, .len = e.len};
}

/* The image does not know the sockets in the scratch directory, which are free; the profile does.
 * So an allowed path is told, another is left to Seatbelt. */
static int done(struct connection *c, int ret)
{
	int err = shim_get_errno();

	if (!c->has_path || !shim_judge(SBX_CONNECT, c->buf, c->told.len).allowed)
		return ret;
	c->told.err = ret < 0 ? err : 0;
	c->told.flags = SBX_EVF_ALLOWED;
	shim_tell(&c->told, 0);
	shim_set_errno(err);
	return ret;
}

static int shim_connect_call(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct connection c;

	look(&c, SBX_CALL_connect, addr, len);
	return done(&c, connect(fd, addr, len));
}

static int shim_connectx_call(int fd, const sa_endpoints_t *ends, uint32_t assoc, unsigned flags,
			      const void *iov, unsigned niov, size_t *sent, uint32_t *id)
{
	struct connection c;

	look(&c, SBX_CALL_connectx, shim_is_no_pointer(ends) ? NULL : ends->sae_dstaddr,
	     shim_is_no_pointer(ends) ? 0 : ends->sae_dstaddrlen);
	return done(&c, connectx(fd, ends, assoc, flags, iov, niov, sent, id));
}

/* dyld interposes in libraries that come later, too, so nothing is lost: it is told, no more.
 * "@rpath" is the caller's, whom dyld finds by the return address: a jump, never a call. */
static void *shim_dlopen_call(const char *path, int mode)
{
	if (!shim_is_no_pointer(path) && *path == '/')
		shim_query(SBX_CALL_dlopen, AT_FDCWD, path, false);
	__attribute__((musttail)) return dlopen(path, mode);
}

SHIM_INTERPOSE(shim_bind_call, bind);
SHIM_INTERPOSE(shim_connect_call, connect);
SHIM_INTERPOSE(shim_connect_call, connect_nocancel);
SHIM_INTERPOSE(shim_connectx_call, connectx);
SHIM_INTERPOSE(shim_dlopen_call, dlopen);
