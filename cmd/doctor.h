/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - what sbx-launch --doctor looks for beside the host's abilities. */
#pragma once

#include "launcher/report/host.h"

/* Fills `linked` of the host: files that the default policy denies here and that have further
 * names. Lives as long as the program. Where no policy can be made the verdicts say why: then none.
 */
void doctor_find_linked(struct lau_host *);
