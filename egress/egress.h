/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.h - the process outside of a run's network namespace: it answers the run's questions for
 * names, and carries the connections that the broker has announced (door.h).
 *
 * It stands between the command, which is the attacker, and the network. It has no files but those
 * that say how names are looked up, no programs, no capabilities and a short list of system calls;
 * it judges names and addresses by the same image as the broker; and it takes no connection that
 * was not announced.
 */
#pragma once

struct b_err;

/* Serves with the descriptors of door.h until the broker is gone: 0; -1: it could not begin. */
int egr_serve(struct b_err *err);
