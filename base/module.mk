# SPDX-License-Identifier: Apache-2.0
base_SRCS := $(wildcard base/*.c)
