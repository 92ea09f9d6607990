/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - main() of the escape probes (selftest): one static program, so that
 * nothing preloaded is on the way of an attack.
 *
 *	probe list             name and needs, a line each
 *	probe setup DIR        a fresh fixture
 *	probe state DIR        what the outside looks like, to be compared before and after
 *	probe outside DIR      the process outside; until its standard input closes
 *	probe run DIR NAME     the attack: 0 it worked, 1 refused, 2 no such thing
 */
#include <stdio.h>
#include <string.h>

#include "selftest/probes.h"

static int list(void)
{
	const struct st_probe *p;

	for (size_t i = 0; (p = st_probe_at(i)); i++)
		printf("%s%s%s%s%s\n", p->name, p->needs & ST_NEEDS_ROOT ? " root" : "",
		       p->needs & ST_NEEDS_HOST ? " host" : "",
		       p->needs & ST_NEEDS_TTY ? " tty" : "",
		       p->needs & ST_NEEDS_DENY ? " deny" : "");
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "list"))
		return list();
	if (argc < 3) {
		fprintf(stderr, "usage: probe list | setup|state|outside DIR | run DIR NAME\n");
		return 2;
	}
	st_base(argv[2]);
	if (!strcmp(verb, "outside"))
		return st_serve_outside();
	if (!strcmp(verb, "state"))
		return st_state(stdout) < 0 ? 2 : 0;
	if (!strcmp(verb, "run") && argc == 4)
		return st_run(argv[3]);
	if (strcmp(verb, "setup") != 0)
		return 2;
	if (st_make_fixture() == 0)
		return 0;
	perror("probe: setup");
	return 2;
}
