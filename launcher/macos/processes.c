/* processes.c - see launcher/processes.h; libproc(3). There is no subreaper on macOS: what a
 * process of the run left to launchd is found while its group is still ours, and not after. */
#include "launcher/processes.h"

#include <libproc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { MAX_PIDS = 16384, MAX_DEPTH = 64 };

struct found {
	struct proc_bsdinfo *v;
	size_t n;
};

void lau_processes_adopt(void)
{
}

bool lau_processes_can_adopt(void)
{
	return false;
}

bool lau_processes_none(void)
{
	return false; /* orphans are launchd's: nothing tells */
}

static struct found look(void)
{
	pid_t *pids = b_calloc(MAX_PIDS, sizeof *pids);
	int n = proc_listallpids(pids, MAX_PIDS * (int)sizeof *pids);
	struct found f = {.v = b_calloc(n > 0 ? (size_t)n : 1, sizeof *f.v)};

	for (int i = 0; i < n; i++)
		if (proc_pidinfo(pids[i], PROC_PIDTBSDINFO, 0, &f.v[f.n], sizeof f.v[0]) ==
		    (int)sizeof f.v[0])
			f.n++;
	free(pids);
	return f;
}

static const struct proc_bsdinfo *find(const struct found *f, uint32_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].pbi_pid == pid)
			return &f->v[i];
	return NULL;
}

static bool is_below_us(const struct found *f, const struct proc_bsdinfo *p,
			const struct lau_servants * not )
{
	uint32_t us = (uint32_t)getpid();

	if (p->pbi_pid == us || p->pbi_pid == (uint32_t) not ->timer)
		return false;
	for (unsigned depth = 0; p && depth < MAX_DEPTH; depth++) {
		if (p->pbi_ppid == us)
			return true;
		p = find(f, p->pbi_ppid);
	}
	return false;
}

unsigned lau_processes_signal(int signo, const struct lau_servants * not )
{
	struct found f = look();
	unsigned n = 0;

	if (not ->group)
		(void)kill(-not ->group, signo);
	for (size_t i = 0; i < f.n; i++)
		if (is_below_us(&f, &f.v[i], not )) {
			if (!not ->group || f.v[i].pbi_pgid != (uint32_t) not ->group)
				(void)kill((pid_t)f.v[i].pbi_pid, signo);
			n++;
		}
	free(f.v);
	return n;
}

void lau_processes_list(struct b_str *out, const struct lau_servants * not )
{
	struct found f = look();
	const char *comma = "";

	for (size_t i = 0; i < f.n; i++)
		if (is_below_us(&f, &f.v[i], not )) {
			b_str_addf(out, "%s%u %.16s", comma, f.v[i].pbi_pid, f.v[i].pbi_comm);
			comma = ", ";
		}
	free(f.v);
}
