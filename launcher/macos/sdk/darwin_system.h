/* SPDX-License-Identifier: Apache-2.0 */
/* darwin_system.h - the rest of darwin.h: signals, sockets, processes, the loader. */
#pragma once

#include <darwin.h>

/* ---- signal.h, sys/wait.h ---- */

typedef uint32_t sigset_t;
typedef struct {
	int si_signo, si_errno, si_code;
	pid_t si_pid;
	uid_t si_uid;
	int si_status;
	void *si_addr;
	void *si_value;
	long si_band;
	unsigned long pad[7];
} siginfo_t;
struct sigaction {
	union {
		void (*sa_handler)(int);
		void (*sa_sigaction)(int, siginfo_t *, void *);
	};
	sigset_t sa_mask;
	int sa_flags;
};
#define SIG_DFL	    ((void (*)(int))0)
#define SIG_IGN	    ((void (*)(int))1)
#define SIG_BLOCK   1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3
#define SA_RESTART  0x0002
#define SA_ONSTACK  0x0001
#define SA_RESETHAND 0x0004
#define SA_SIGINFO  0x0040
#define SIGHUP	    1
#define SIGINT	    2
#define SIGQUIT	    3
#define SIGILL	    4
#define SIGTRAP	    5
#define SIGABRT	    6
#define SIGFPE	    8
#define SIGKILL	    9
#define SIGBUS	    10
#define SIGSEGV	    11
#define SIGSYS	    12
#define SIGPIPE	    13
#define SIGALRM	    14
#define SIGTERM	    15
#define SIGSTOP	    17
#define SIGTSTP	    18
#define SIGCONT	    19
#define SIGCHLD	    20
#define SIGTTIN	    21
#define SIGTTOU	    22
#define SIGXCPU	    24
#define SIGXFSZ	    25
#define SIGWINCH    28
#define SIGUSR1	    30
#define SIGUSR2	    31
int sigaction(int, const struct sigaction *restrict, struct sigaction *restrict);
int sigprocmask(int, const sigset_t *restrict, sigset_t *restrict);
int sigsuspend(const sigset_t *);
int kill(pid_t, int);
int raise(int);
void (*signal(int, void (*)(int)))(int);
int killpg(pid_t, int);
#define sigemptyset(set)      (*(set) = 0, 0)
#define sigfillset(set)	      (*(set) = ~(sigset_t)0, 0)
#define sigaddset(set, signo) (*(set) |= (sigset_t)1 << ((signo)-1), 0)

#define WNOHANG	       0x01
#define WUNTRACED      0x02
#define WIFEXITED(s)   (((s)&0177) == 0)
#define WEXITSTATUS(s) (((s) >> 8) & 0xff)
#define WIFSTOPPED(s)  (((s)&0177) == 0177)
#define WSTOPSIG(s)    (((s) >> 8) & 0xff)
#define WIFSIGNALED(s) (((s)&0177) != 0177 && ((s)&0177) != 0)
#define WTERMSIG(s)    ((s)&0177)
pid_t waitpid(pid_t, int *, int);
pid_t wait(int *);

/* ---- sys/socket.h ---- */

struct sockaddr {
	uint8_t sa_len, sa_family;
	char sa_data[14];
};
struct sockaddr_un {
	uint8_t sun_len, sun_family;
	char sun_path[104];
};
#define AF_UNIX 1
typedef uint32_t socklen_t;
typedef struct {
	unsigned sae_srcif;
	const struct sockaddr *sae_srcaddr;
	socklen_t sae_srcaddrlen;
	const struct sockaddr *sae_dstaddr;
	socklen_t sae_dstaddrlen;
} sa_endpoints_t;
int connect(int, const struct sockaddr *, socklen_t);
int bind(int, const struct sockaddr *, socklen_t);
int connectx(int, const sa_endpoints_t *, uint32_t, unsigned, const void *, unsigned, size_t *,
	     uint32_t *);

/* ---- sys/xattr.h, sys/attr.h, sys/acl.h, sys/clonefile.h, sys/snapshot.h, copyfile.h ---- */

#define XATTR_NOFOLLOW 0x0001
#define FSOPT_NOFOLLOW 0x00000001
int setxattr(const char *, const char *, const void *, size_t, uint32_t, int);
int removexattr(const char *, const char *, int);
int fsetxattr(int, const char *, const void *, size_t, uint32_t, int);
int fremovexattr(int, const char *, int);
int setattrlist(const char *, void *, void *, size_t, uint32_t);
int fsetattrlist(int, void *, void *, size_t, uint32_t);
int setattrlistat(int, const char *, void *, void *, size_t, uint32_t);
typedef struct darwin_acl *acl_t;
typedef unsigned acl_type_t; /* an enumeration */
int acl_set_file(const char *, acl_type_t, acl_t);
int acl_set_link_np(const char *, acl_type_t, acl_t);
int fs_snapshot_create(int, const char *, uint32_t);
int clonefile(const char *, const char *, uint32_t);
int clonefileat(int, const char *, int, const char *, uint32_t);
int fclonefileat(int, int, const char *, uint32_t);
typedef struct darwin_copyfile_state *copyfile_state_t;
#define COPYFILE_NOFOLLOW_SRC (1 << 18)
#define COPYFILE_NOFOLLOW_DST (1 << 19)
#define COPYFILE_MOVE	      (1 << 20)
int copyfile(const char *, const char *, copyfile_state_t, uint32_t);

/* ---- sys/sysctl.h ---- */

int sysctlbyname(const char *, void *, size_t *, void *, size_t);

/* ---- libproc.h ---- */

#define PROC_PIDTBSDINFO 3
struct proc_bsdinfo {
	uint32_t pbi_flags, pbi_status, pbi_xstatus, pbi_pid, pbi_ppid;
	uid_t pbi_uid;
	gid_t pbi_gid;
	uid_t pbi_ruid;
	gid_t pbi_rgid;
	uid_t pbi_svuid;
	gid_t pbi_svgid;
	uint32_t rfu_1;
	char pbi_comm[16], pbi_name[32];
	uint32_t pbi_nfiles, pbi_pgid, pbi_pjobc, e_tdev, e_tpgid;
	int32_t pbi_nice;
	uint64_t pbi_start_tvsec, pbi_start_tvusec;
};
_Static_assert(sizeof(struct proc_bsdinfo) == 136, "struct proc_bsdinfo of XNU");
int proc_listallpids(void *, int);
int proc_pidinfo(int, int, uint64_t, void *, int);

/* ---- sys/resource.h ---- */

typedef uint64_t rlim_t;
struct rlimit {
	rlim_t rlim_cur, rlim_max;
};
#define RLIM_INFINITY (((rlim_t)1 << 63) - 1)
#define RLIMIT_FSIZE  1
#define RLIMIT_NOFILE 8
int getrlimit(int, struct rlimit *);
int setrlimit(int, const struct rlimit *);

/* ---- pthread.h ---- */

typedef struct darwin_thread *pthread_t;
typedef struct {
	long sig;
	char opaque[56];
} pthread_mutex_t, pthread_attr_t;
typedef struct {
	long sig;
	char opaque[40];
} pthread_cond_t;

/* ---- spawn.h ---- */

typedef void *posix_spawnattr_t, *posix_spawn_file_actions_t;
int posix_spawn(pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *restrict, char *const[restrict], char *const[restrict]);
int posix_spawnp(pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *,
		 const posix_spawnattr_t *restrict, char *const[restrict], char *const[restrict]);

/* ---- dlfcn.h, mach-o ---- */

typedef struct {
	const char *dli_fname;
	void *dli_fbase;
	const char *dli_sname;
	void *dli_saddr;
} Dl_info;
#define RTLD_DEFAULT ((void *)-2)
void *dlsym(void *, const char *);
void *dlopen(const char *, int);
int dladdr(const void *, Dl_info *);
int _NSGetExecutablePath(char *, uint32_t *);
