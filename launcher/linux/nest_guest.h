/* nest_guest.h - the fork of the supervisor that makes one inner run. */
#pragma once

#include "launcher/linux/nest.h"

struct lau_guest {
	struct lau_nest_server *server;
	int sock;
};

/* Reads the request, makes the run, tells how it ended: the status to exit with. */
int lau_guest_run(struct lau_guest *);
