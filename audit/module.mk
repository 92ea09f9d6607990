# SPDX-License-Identifier: Apache-2.0
audit_SRCS := $(wildcard audit/*.c)
