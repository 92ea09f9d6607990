/* SPDX-License-Identifier: Apache-2.0 */
/* spellings.c - paths by their numbers: which name, and how it is written. */
#include "attack.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

int ak_launcher;

/* Is this a broker? That of the run is a child of the launcher, as the inside is. */
static bool is_broker(const char *pid, bool *out_is_ours)
{
	char path[40], state = 0;
	int parent = 0, n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
	f = pid[0] >= '1' && pid[0] <= '9' ? fopen(path, "re") : NULL;
	n = f ? fscanf(f, "%*d (sbx-broker) %c %d", &state, &parent) : 0;
	if (f)
		(void)fclose(f);
	*out_is_ours = parent == ak_launcher;
	return n == 2 && state != 'Z';
}

/* The broker, whose name anybody may read; one of another run where ours is not seen. */
static int find_broker(void)
{
	static int pid;
	DIR *proc = pid ? NULL : opendir("/proc");
	struct dirent *d;
	bool is_ours = false;

	while (proc && !is_ours && (d = readdir(proc)))
		if (is_broker(d->d_name, &is_ours))
			pid = atoi(d->d_name);
		else
			is_ours = false;
	if (proc)
		closedir(proc);
	return pid ? pid : 2;
}

/* Those of the run itself, which the inside learns from its environment. */
static const char *own_name(const char *name)
{
	static _Thread_local char text[300];
	const char *dir = getenv(!strncmp(name, "@tmp", 4) ? "TMPDIR" : "SBX_CHANNEL");
	const char *slash = strchr(name, '/');

	if (!strcmp(name, "@victim")) {
		snprintf(text, sizeof text, "%s/out/proc/%d/environ", ak.base, ak.host_pid);
		return text;
	}
	if (!strncmp(name, "@broker", 7)) {
		snprintf(text, sizeof text, "/proc/%d%s", find_broker(), name + 7);
		return text;
	}
	if (!strcmp(name, "@shim"))
		return getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "/none";
	if (!strncmp(name, "@tmp", 4))
		snprintf(text, sizeof text, "%.200s%s", dir ? dir : "/none", slash ? slash : "");
	else
		snprintf(text, sizeof text, "%.200s/%s", dir ? dir : "/none", name + 1);
	return text;
}

static const char *name_of(uint32_t v)
{
	const char *name = ak_names[(v & 0xff) % ak_nnames];

	return name[0] == '@' ? own_name(name) : name;
}

/* Absolute; names of the world are told from the base, others begin with a slash already. */
static void absolute(const char *name, char *out)
{
	if (name[0] == '/')
		snprintf(out, AK_TEXT, "%s", name);
	else
		snprintf(out, AK_TEXT, "%s/%s", ak.base, name);
}

/* From the workspace, where programs begin. */
static void relative(const char *name, char *out)
{
	if (name[0] == '/')
		snprintf(out, AK_TEXT, "%s", name);
	else if (!strncmp(name, "ws/", 3))
		snprintf(out, AK_TEXT, "%s", name + 3);
	else
		snprintf(out, AK_TEXT, "../%s", name);
}

int ak_some_pid(uint32_t v)
{
	const int of[] = {getpid(), getppid(), ak.host_pid, 1, 2, 3, 4, (int)getpid() + 1};

	return of[(v >> 20) % LEN(of)];
}

static void in_proc(uint32_t v, const char *name, char *out)
{
	char rel[512], abs[512];

	relative(name, rel);
	absolute(name, abs);
	switch ((v >> 24) % 9) {
	case 0:
		snprintf(out, AK_TEXT, "/proc/self/cwd/%s", rel);
		break;
	case 1:
		snprintf(out, AK_TEXT, "/proc/self/root%s", abs);
		break;
	case 2:
		snprintf(out, AK_TEXT, "/proc/thread-self/cwd/%s", rel);
		break;
	case 3:
		snprintf(out, AK_TEXT, "/proc/self/fd/%d", ak_fd_number(v >> 16));
		break;
	case 4:
		snprintf(out, AK_TEXT, "/proc/self/fd/%d/%s", ak_fd_number(v >> 16), rel);
		break;
	case 5:
		snprintf(out, AK_TEXT, "/proc/%d/cwd/%s", ak_some_pid(v), rel);
		break;
	case 6:
		snprintf(out, AK_TEXT, "/proc/%d/root%s", ak_some_pid(v), abs);
		break;
	case 7:
		snprintf(out, AK_TEXT, "/proc/%d/fd/%d", ak_some_pid(v),
			 (int)((v >> 16) % 2 ? (v >> 26) : AK_SLOT + (v >> 27) % AK_SLOTS));
		break;
	default:
		snprintf(out, AK_TEXT, "/proc/%d/%s", ak_some_pid(v),
			 (const char *const[]){"mem", "environ", "exe", "maps", "uid_map",
					       "setgroups", "task", "ns/user"}[(v >> 16) % 8]);
	}
}

/* A path without its last component, and that. */
static void cut(const char *rel, char *dir, const char **last)
{
	const char *slash = strrchr(rel, '/');

	snprintf(dir, 512, "%.*s", slash ? (int)(slash - rel) : 1, slash ? rel : ".");
	*last = slash ? slash + 1 : rel;
}

static void upper(char *s)
{
	for (; *s; s++)
		if (*s >= 'a' && *s <= 'z')
			*s = (char)(*s - 32);
}

static void long_way(uint32_t v, const char *rel, char *out)
{
	size_t n = 0, want = (v >> 24) % 2 ? 3900 : 4300;

	while (n < want)
		n += (size_t)snprintf(out + n, AK_TEXT - n, "%s", (v >> 25) % 2 ? "./" : "src/../");
	snprintf(out + n, AK_TEXT - n, "%s", rel);
}

static void detour(uint32_t v, const char *rel, char *out)
{
	static const char *const by[] = {"./",	       "src/sub/../../", "l_ws/",   "l_ws/l_ws/",
					 ".//",	       "src/../",	 "pub/../", "l_src/../",
					 "l_base/ws/", "l_cwd/",	 "l_root"};
	const char *way = by[(v >> 24) % LEN(by)];

	if (rel[0] == '/')
		snprintf(out, AK_TEXT, "%s%s", !strcmp(way, "l_root") ? way : "", rel);
	else
		snprintf(out, AK_TEXT, "%s%s", !strcmp(way, "l_root") ? "" : way, rel);
}

void ak_spell(uint32_t v, char *out)
{
	const char *name = name_of(v), *last;
	char rel[512], dir[512];

	relative(name, rel);
	switch ((v >> 8) & 31) {
	case 0 ... 10:
		snprintf(out, AK_TEXT, "%s", rel);
		break;
	case 11 ... 15:
		absolute(name, out);
		break;
	case 16 ... 19:
		detour(v, rel, out);
		break;
	case 20 ... 23:
		in_proc(v, name, out);
		break;
	case 24:
		snprintf(out, AK_TEXT, "%s/", rel);
		break;
	case 25:
		snprintf(out, AK_TEXT, "%s/%s", rel, (v >> 24) % 2 ? "." : "..");
		break;
	case 26: /* of a directory that descriptors may lead to */
		cut(rel, dir, &last);
		snprintf(out, AK_TEXT, "%s", last);
		break;
	case 27:
		out[0] = '\0';
		break;
	case 28:
		long_way(v, rel, out);
		break;
	case 29:
		cut(rel, dir, &last);
		upper(out + snprintf(out, AK_TEXT, "%s/", dir));
		snprintf(out + strlen(out), AK_TEXT - strlen(out), "%s", last);
		upper(out + strlen(dir));
		break;
	case 30:
		snprintf(out, AK_TEXT, "/dev/fd/%d", ak_fd_number(v >> 16));
		break;
	default:
		snprintf(out, AK_TEXT, "%s/../%s", rel,
			 strrchr(rel, '/') ? strrchr(rel, '/') + 1 : rel);
	}
}

void ak_spell_absolute(uint32_t v, char *out)
{
	absolute(name_of(v), out);
}
