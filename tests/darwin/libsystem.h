/* SPDX-License-Identifier: Apache-2.0 */
/* libsystem.h - the parts of the fake libSystem: libsystem.c has the table of names. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define SANDBOX_EXEC "/usr/bin/sandbox-exec"

struct d_siginfo;
struct d_sigaction;
struct d_bsdinfo;

/* An errno of the host as macOS numbers it. */
int libsystem_error(int host);

int d_execv(const char *file, char *const *argv);
int d_execve(const char *file, char *const *argv, char *const *envp);
int d_kill(pid_t pid, int s);
int d_listallpids(int *pids, int bytes);
int d_pidinfo(int pid, int flavor, uint64_t arg, struct d_bsdinfo *out, int size);
int d_raise(int s);
int d_sigaction(int s, const struct d_sigaction *act, struct d_sigaction *old);
void *d_signal(int s, void *handler);
int d_sigprocmask(int how, const uint32_t *set, uint32_t *old);
int d_spawn(pid_t *pid, const char *file, const void *actions, const void *attr, char *const *argv,
	    char *const *envp);
int d_spawnp(pid_t *pid, const char *file, const void *actions, const void *attr, char *const *argv,
	     char *const *envp);
pid_t d_waitpid(pid_t pid, int *out, int options);
struct libsystem_name {
	const char *symbol;
	void *address;
};
#define OWN(name, fn)                                                                              \
	{                                                                                          \
		"_" name, (void *)(uintptr_t) & (fn)                                               \
	}
/* libsystem_macos.c: what only macOS has, and what is variadic there. Ends with NULL. */
extern const struct libsystem_name libsystem_macos[];

void log_arguments(char *const *argv);
