# SPDX-License-Identifier: Apache-2.0
# Signed sets of managed policies: sbx-bundle, which sbx-policy starts for `bundle` and sbx-launch for
# --require-bundle. It alone needs OpenSSL; where the headers are missing it is not built.
OPENSSL_H := $(wildcard /usr/include/openssl/evp.h /usr/local/include/openssl/evp.h)
bundle_SRCS := $(filter-out $(if $(OPENSSL_H),,bundle/sign.c bundle/take.c),$(wildcard bundle/*.c))
