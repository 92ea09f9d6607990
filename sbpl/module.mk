sbpl_SRCS += \
	sbpl/regex.c sbpl/read.c sbpl/ops.c sbpl/names.c sbpl/eval.c sbpl/rules.c sbpl/match.c \
	sbpl/groups.c sbpl/canon.c sbpl/text.c sbpl/sample.c sbpl/pins.c sbpl/layers.c sbpl/clone.c sbpl/emit.c sbpl/opts.c \
	sbpl/orbit.c sbpl/check.c
