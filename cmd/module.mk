# SPDX-License-Identifier: Apache-2.0
# Programs: their main() is cmd/<program>.c; what else they are made of.
sbx-policy_SRCS := $(wildcard cmd/ask*.c)
sbx-launch_SRCS := cmd/doctor.c
