policy_SRCS += \
	policy/model.c policy/normalise.c policy/validate.c policy/effective.c \
	policy/front/yaml.c policy/front/orbit.c

# The floor planner and its plans.
policy_SRCS += policy/back/seccomp.c policy/back/landlock.c policy/back/floor.c \
	policy/back/floor_show.c policy/back/fsview.c
