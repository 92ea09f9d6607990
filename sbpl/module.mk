# SPDX-License-Identifier: Apache-2.0
sbpl_SRCS += \
	sbpl/regex.c sbpl/read.c sbpl/ops.c sbpl/groups.c sbpl/eval.c sbpl/rules.c sbpl/rules.c \
	sbpl/groups.c sbpl/canon.c sbpl/text.c sbpl/check.c sbpl/pins.c sbpl/layers.c sbpl/layers.c sbpl/emit.c sbpl/layers.c \
	sbpl/orbit.c sbpl/check.c
