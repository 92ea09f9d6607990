# SPDX-License-Identifier: Apache-2.0
policy_SRCS := $(filter-out policy/presets/gen-presets.c,$(wildcard policy/*.c policy/*/*.c))

# The presets, compiled in as the trees that the YAML reader makes of them.
policy_GEN += presets.c
PRESETS := $(addprefix policy/presets/, \
	default.yaml secrets.yaml protected.yaml readonly.yaml workspace.yaml offline-build.yaml grida-outer.yaml grida-call.yaml \
	npm.yaml pip.yaml cargo.yaml go.yaml git.yaml codex.yaml claude.yaml gemini.yaml grok.yaml qwen.yaml opencode.yaml cursor-agent.yaml aider.yaml \
	pnpm.yaml yarn.yaml uv.yaml poetry.yaml maven.yaml gradle.yaml rustup.yaml jupyter.yaml github.yaml orbit.yaml openshell-default.yaml)
$(B)/gen-presets: $(B)/obj/policy/presets/gen-presets.o $(B)/obj/policy/front/yaml.o \
		$(B)/lib/base.a
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),$(LIBS_POLICY))
$(B)/gen/presets.c: $(B)/gen-presets $(PRESETS) | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q)$(EMULATOR) $(B)/gen-presets $(PRESETS) > $@.tmp && mv $@.tmp $@
DEPS += $(B)/obj/policy/presets/gen-presets.d

# The schemas, as strings.
POLICY_SCHEMAS := policy exec-result fs-call-event run
policy_GEN += schema.c
$(B)/gen/schema.c: $(POLICY_SCHEMAS:%=docs/schema/%.schema.json) policy/module.mk | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q){ echo '#include "policy/schema.h"'; echo 'const struct pol_schema pol_schemas[] = {'; \
		for name in $(POLICY_SCHEMAS); do \
		echo "{\"$$name\","; \
		sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' docs/schema/$$name.schema.json; echo '},'; done; \
		echo '};'; echo 'const size_t pol_nschemas = sizeof pol_schemas / sizeof *pol_schemas;'; } >$@

# The library for other programs: one object in which only what policy/sbx.h declares is visible.
SBX_PUBLIC := load free check check_resolved explain decide version
$(B)/libsbx.a: $(B)/lib/policy.a $(B)/lib/base.a $(B)/lib/core.a policy/sbx.h $(LINKING)
	$(call say,AR,$@)
	$(Q)$(LD_R) -r -o $(B)/libsbx.o --whole-archive $(filter %.a,$^)
	$(Q)$(OBJCOPY) $(SBX_PUBLIC:%=--keep-global-symbol=sbx_policy_%) $(B)/libsbx.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/libsbx.o && rm -f $(B)/libsbx.o
$(B)/sbx.pc: policy/sbx.pc.in VERSION GNUmakefile $(PLACES) | $$(@D)/.d
	$(Q)sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@INCLUDEDIR@,$(INCLUDEDIR),; s,@VERSION@,$(VERSION),' \
		$< >$@
all: $(B)/libsbx.a
