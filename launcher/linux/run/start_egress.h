/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_egress.h - sbx-egress beside a run whose policy has rules on endpoints (egress/door.h).
 *
 *	lau_door_prepare(&d, &broker, &err);	page, channel and program
 *	fork: the broker makes the sockets in its namespace and sends them over d.sockets[1]
 *	lau_door_opened(&d, image, size, &err);
 * or, where it is to have its certificates before the command:
 *	lau_door_begin(&d, image, size, files, &err);
 *	lau_door_wait(&d, &err);
 *	fork, lau_door_opened() as above
 *	... the supervisor's loop looks at d.watch, and starts the program at its first use ...
 *	lau_door_release(&d);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "egress/door.h"
#include "launcher/linux/broker/public.h"
#include "launcher/supervise/supervise.h"

struct b_err;
struct pol_effect;

struct lau_door {
	struct lau_watch watch; /* first */
	struct egr_page *page;	/* NULL = no such run */
	int page_fd, program;
	int channel[2];	      /* sbx-egress's end, the broker's */
	int sockets[2];	      /* ours, the broker's: for what it makes in the namespace */
	int control[2];	      /* ours, sbx-egress's end: for other policies (egress/door.h) */
	int later;	      /* to one that was started before them, -1 = none */
	int fd[EGR_DOOR_MAX]; /* egr_door_fds() of them: listeners from EGR_SOCKETS on */
	const void *image;    /* borrowed */
	size_t image_size;
	pid_t pid; /* 0 = not started, or ended */
};
/* clang-format off */
#define LAU_DOOR_INIT                                                                              \
	{                                                                                          \
		.watch.fd = -1, .page_fd = -1, .program = -1, .channel = {-1, -1},                 \
		.sockets = {-1, -1}, .control = {-1, -1}, .later = -1, .fd = {[0 ... EGR_DOOR_MAX - 1] = -1}                          \
	}
/* clang-format on */

/* *out: the part of it that the broker gets. */
int lau_door_prepare(struct lau_door *, struct lau_broker_door *out, struct b_err *err);
enum { LAU_TLS_FILES = EGR_FD_TLS_END - EGR_FD_OWN };
/* Before lau_spawn(): sbx-egress starts now, and writes its certificates to these files (of enum
 * egr_tls_fd from EGR_FD_OWN on). `image` must live until the release. */
int lau_door_begin(struct lau_door *, const void *image, size_t size,
		   const int files[LAU_TLS_FILES], struct b_err *err);
/* They are written. */
int lau_door_wait(struct lau_door *, struct b_err *err);
/* door_settings.c: what the policy says of the network beside its rules goes to the page; published
 * ports are opened at the host's loopback interface. B_SYSTEM: another program has one. */
int lau_door_settle(struct lau_door *, const struct pol_effect *, struct b_err *err);
/* After lau_spawn(). `image` must live until the release. */
int lau_door_opened(struct lau_door *, const void *image, size_t size, struct b_err *err);
/* Another policy, which must live until the release: sbx-egress judges by it, connections that are
 * there as well, when this returns 0; one that is not started yet will. On failure it has ended,
 * and with it every connection. */
int lau_door_reload(struct lau_door *, const void *image, size_t size, struct egr_reloaded *out,
		    struct b_err *err);
/* When the broker has ended: what sbx-egress has told it and it has not heard. */
uint64_t lau_door_unheard(const struct lau_door *);
/* Ends sbx-egress, when it has not ended. */
void lau_door_release(struct lau_door *);
