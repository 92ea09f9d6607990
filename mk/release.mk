# SPDX-License-Identifier: Apache-2.0
# Packages. The paths of this build are in no program, and times are the last commit's: the same
# sources and tools give the same bytes.
RELEASE ?= build-release/packages
release: setup
	$(Q)export ALL_STATIC=1 CFLAGS='-O2 -g -ffile-prefix-map=$(CURDIR)=.' B=build-release; \
		$(MAKE) -j$(JOBS) all && rm -rf $(RELEASE) && scripts/release $(RELEASE)
	$(Q)cat $(RELEASE)/SHA256SUMS
.PHONY: release
