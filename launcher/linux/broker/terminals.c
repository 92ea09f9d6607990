/*
 * terminals.c - which terminals are the run's own. There is one /dev/pts for all of the host: a
 * rule that lets a program open the terminals it makes opens those of the caller too, and for root
 * those of everybody. To write to one is not to change it: with another mode or owner every account
 * could read what is typed there, also when the run is over.
 */
#include "launcher/linux/broker/broker.h"

#include <dirent.h>
#include <string.h>

#include "base/str.h"

#define BR_TERMINALS 65536 /* what has a higher number counts as the host's */

static const char dir[] = "/dev/pts/";

/* The number in the name of a terminal, or BR_TERMINALS. */
static size_t number_of(const char *name)
{
	unsigned long long n;

	return b_parse_u64(name, BR_TERMINALS - 1, &n) < 0 ? BR_TERMINALS : (size_t)n;
}

/* Of the one broker of this process: the terminals of before the command. */
static unsigned char outside[BR_TERMINALS / 8];

void br_find_terminals(void)
{
	DIR *list = opendir(dir);
	struct dirent *e;

	memset(outside, list ? 0 : 0xff, sizeof outside);
	while (list && (e = readdir(list))) {
		size_t n = number_of(e->d_name);

		if (n < BR_TERMINALS)
			outside[n / 8] |= (unsigned char)(1u << n % 8);
	}
	if (list)
		closedir(list);
}

bool br_is_host_terminal(const struct br_call *c, const struct br_end *e)
{
	size_t n;

	if (strncmp(e->path, dir, sizeof dir - 1) != 0)
		return false;
	n = number_of(e->path + sizeof dir - 1);
	return n >= BR_TERMINALS || outside[n / 8] >> n % 8 & 1 || e->st.st_uid != c->b->uid;
}
