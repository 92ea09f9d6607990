# SPDX-License-Identifier: Apache-2.0
# What sbx-audit shows of records; no other program has it.
sbx-audit_SRCS := $(wildcard views/*.c) cmd/audit_verbs.c cmd/pager.c

# The page of `sbx-audit report`, as a string.
$(B)/gen/page.inc: views/page.html | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q)sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $< >$@.tmp && mv $@.tmp $@
$(B)/obj/views/report.o: $(B)/gen/page.inc
