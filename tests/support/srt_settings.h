/* SPDX-License-Identifier: Apache-2.0 */
/* srt_settings.h - settings of srt's, parsed. */
#pragma once

#include "base/err.h"
#include "policy/front/dialect.h"
#include "policy/document/model.h"

/* What the last call said. */
extern struct b_err srt_err;

int srt_parse(const char *text, struct pol_doc *out);
/* Settings with these values of network, filesystem and the rest. */
int srt_parse_with(const char *network, const char *filesystem, const char *rest,
		   struct pol_doc *out);
/* Fails the test unless such settings are refused with the message. */
void srt_refused(const char *network, const char *filesystem, const char *rest,
		 const char *message);
