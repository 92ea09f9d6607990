# SPDX-License-Identifier: Apache-2.0
adopt_SRCS := $(wildcard adopt/*.c)
