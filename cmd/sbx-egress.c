/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-egress.c - started by sbx-launch when a run first uses its network; no command of its own. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/io.h"
#include "egress/door.h"
#include "egress/egress.h"

static const char me[] = "sbx-egress";

/* Only the launcher gives it a socket to a broker. */
static bool is_started_by_hand(void)
{
	int type = 0;
	socklen_t len = sizeof type;

	return getsockopt(EGR_FD_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	       type != SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
	struct b_err err;

	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", me, SBX_VERSION);
		return 0;
	}
	if (argc > 1 || is_started_by_hand()) {
		fprintf(stderr, "%s: only sbx-launch starts this program\n", me);
		return 2;
	}
	return egr_serve(&err) < 0 ? b_report(me, &err) : 0;
}
