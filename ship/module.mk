# SPDX-License-Identifier: Apache-2.0
# The record to a server: sbx-ship, which sbx-audit starts for `ship`. What talks HTTP needs libcurl; where
# its headers are missing, sbx-ship is not built, and `sbx-audit ship` says so.
CURL_H := $(and $(wildcard /usr/include/curl/curl.h /usr/include/*/curl/curl.h /usr/local/include/curl/curl.h),$(wildcard /usr/include/zlib.h /usr/local/include/zlib.h))
ship_SRCS := $(filter-out $(if $(CURL_H),,ship/batch.c ship/post.c ship/sender.c ship/ship.c),$(wildcard ship/*.c))
