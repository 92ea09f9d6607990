/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_tls.c - a run in which TLS ends in sbx-egress: its certificates in files of the scratch
 * directory, and the variables by which clients find them. The launcher opens the files and never
 * sees a key.
 */
#include "launcher/linux/run/run_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "launcher/plan/environment.h"
#include "launcher/run/os.h"
#include "policy/engine.h"

#define PLACE "/.sbx-tls-"

/* Descriptors of enum egr_tls_fd, from EGR_FD_OWN on. */
static const char *const names[LAU_TLS_FILES] = {"ca.pem", "bundle.pem", "java.jks"};

/* Others read it, whoever the command runs as. The names are new: what an earlier command has put
 * there is in nobody's way. */
static int make_place(const char *scratch, struct b_str *dir)
{
	b_auto_fd int fd = -1;

	b_str_addf(dir, "%s" PLACE "XXXXXX", scratch);
	if (!mkdtemp(dir->s))
		return -1;
	fd = open(dir->s, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || fchmod(fd, 0755) < 0 ? -1 : b_take_fd(&fd);
}

static int make_files(int dir, int out[LAU_TLS_FILES])
{
	for (int i = 0; i < LAU_TLS_FILES; i++) {
		out[i] = openat(dir, names[i], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				0444);
		if (out[i] < 0 || fchmod(out[i], 0444) < 0)
			return -1;
	}
	return 0;
}

/* JAVA_TOOL_OPTIONS is words between blanks: a path with one cannot be said there. A store of
 * certificates that the user has set stays, unless it is that of a run around this one. */
static void add_java(struct run *r, const char *dir)
{
	static const char var[] = "JAVA_TOOL_OPTIONS", store[] = "-Djavax.net.ssl.trustStore=";
	const char *old = lau_environment_get(&r->env, lau_os_environ(), var);
	const char *set = old ? strstr(old, store) : NULL;
	b_auto(b_str_release) struct b_str text = {0};

	if (strpbrk(dir, " \t\n\"'") || (set && !strstr(set, PLACE)))
		return;
	b_str_addf(&text, "%s%s%s%s/%s -Djavax.net.ssl.trustStoreType=jks", old ? old : "",
		   old && *old ? " " : "", store, dir, names[EGR_FD_JAVA - EGR_FD_OWN]);
	lau_environment_set(&r->env, var, text.s);
}

static void add_variables(struct run *r, const char *dir)
{
	enum { OWN = EGR_FD_OWN - EGR_FD_OWN, ALL = EGR_FD_ALL - EGR_FD_OWN };
	static const struct {
		const char *name;
		int file;
	} vars[] = {
#define X(name, what) {#name, what},
		EGR_TRUST_VARS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) {
		b_auto(b_str_release) struct b_str path = {0};

		b_str_addf(&path, "%s/%s", dir, names[vars[i].file]);
		lau_environment_offer(&r->env, vars[i].name, path.s);
	}
	add_java(r, dir);
}

int lau_run_tls(struct run *r, struct b_err *err)
{
	const struct pol_engine *e = r->plan.engine;
	b_auto(b_str_release) struct b_str path = {0};
	int files[LAU_TLS_FILES] = {-1, -1, -1}, rc = -1;
	b_auto_fd int dir = make_place(r->dirs.scratch.path, &path);

	if (dir < 0 || make_files(dir, files) < 0)
		b_fail_sys(err, B_SYSTEM, errno, "the run's certificates in %s",
			   r->dirs.scratch.path);
	else
		rc = lau_door_begin(&r->door, e->image_data, e->image.size, files, err);
	for (int i = 0; i < LAU_TLS_FILES; i++)
		if (files[i] >= 0)
			close(files[i]);
	if (rc == 0)
		add_variables(r, path.s);
	return rc;
}
