/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - the constructor: finds the run by its variable, maps the policy and the ring, says
 * hello. Inert without them. */
#include <crt_externs.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/event.h"
#include "core/channel.h"
#include "core/path.h"
#include "shim/judge.h"
#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/proc.h"

static void *map_file(const char *name, bool is_shared, size_t *out_size)
{
	char path[SHIM_ENV_MAX + 16];
	void *p = MAP_FAILED;
	struct stat st;
	size_t pos = 0;
	int fd;

	if (!shim_append(path, sizeof path, &pos, shim.channel, strlen(shim.channel)) ||
	    !shim_append(path, sizeof path, &pos, "/", 1) ||
	    !shim_append(path, sizeof path, &pos, name, strlen(name)))
		return NULL;
	fd = sys_openat(AT_FDCWD, path, (is_shared ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC,
			0);
	if (fd < 0)
		return NULL;
	if (sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		*out_size = (size_t)st.st_size;
		p = mmap(NULL, *out_size, is_shared ? PROT_READ | PROT_WRITE : PROT_READ,
			 is_shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	}
	sys_close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static bool open_image(void)
{
	size_t size = 0;
	void *data = map_file(SBX_CHANNEL_IMAGE, false, &size);

	if (!data || sbx_image_open(&shim.image, data, size, false) != SBX_IMAGE_OK)
		return false;
	shim.on_error = shim.image.hdr->on_error;
	return true;
}

static bool open_ring(void)
{
	size_t size = 0;
	struct sbx_ring *ring = map_file(SBX_CHANNEL_RING, true, &size);

	if (!ring || !sbx_ring_check(ring, size, &shim.ring_size))
		return false;
	shim.level = ring->level;
	shim.ring = ring;
	return true;
}

static bool copy_value(char *to, const char *value)
{
	size_t n = value ? strlen(value) : SHIM_ENV_MAX;

	if (n >= SHIM_ENV_MAX)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

static void say_hello(void)
{
	char path[SBX_PATH_MAX];
	uint32_t size = sizeof path;
	struct shim_told t = {.call = SBX_CALL_start, .op = SBX_EXEC, .flags = SBX_EVF_ALLOWED};

	if (_NSGetExecutablePath(path, &size) != 0)
		path[0] = '\0';
	t.path = path;
	t.len = strlen(path);
	shim_tell_exec(SBX_EV_HELLO, &t, 0);
}

static __attribute__((constructor)) void start(void)
{
	const char *channel = getenv(SBX_ENV_CHANNEL);
	Dl_info self;

	if (issetugid() || !channel || *channel != '/' || !copy_value(shim.channel, channel))
		return;
	if (!dladdr((const void *)(uintptr_t)&start, &self) ||
	    !copy_value(shim.preload, self.dli_fname))
		shim.preload[0] = '\0';
	if (!open_image() || !open_ring())
		return;
	atomic_store_explicit(&shim.is_ready, true, memory_order_release);
	say_hello();
}
