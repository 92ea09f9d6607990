# SPDX-License-Identifier: Apache-2.0
# Packages. The paths of this build are in no program, and times are the last commit's: the same
# sources and tools give the same bytes.
RELEASE ?= build-release/packages
release: setup
	$(Q)export ALL_STATIC=1 CFLAGS='-O2 -g -ffile-prefix-map=$(CURDIR)=.' B=build-release; \
		$(MAKE) -j$(JOBS) all && rm -rf $(RELEASE) && scripts/release $(RELEASE)
	$(Q)cat $(RELEASE)/SHA256SUMS

# The sources of the last commit: git's own archive, whose bytes depend on the commit alone, compressed without a
# name and a time. What is not committed is not in it.
DIST = $(B)/sbx-launch-$(shell cat VERSION).tar.gz
dist:
	$(Q)mkdir -p $(B)
	$(Q)git archive --format=tar --prefix=sbx-launch-$$(cat VERSION)/ HEAD | gzip -9n >$(DIST)
	$(Q)cd $(B) && sha256sum $(notdir $(DIST))
.PHONY: release dist
