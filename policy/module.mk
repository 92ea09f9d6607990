policy_SRCS += \
	policy/model.c policy/normalise.c policy/validate.c policy/effective.c \
	policy/front/yaml.c policy/front/keys.c policy/front/orbit.c policy/front/sandbox.c \
	policy/front/dialect.c policy/front/tree.c policy/front/json.c policy/front/toml.c \
	policy/front/toml_value.c policy/front/foreign.c policy/front/openshell.c \
	policy/front/openshell_net.c policy/front/openshell_glob.c policy/front/srt.c policy/front/srt_paths.c policy/front/srt_credentials.c \
	policy/front/caliban.c policy/front/fixed.c \
	policy/load.c policy/foreign.c policy/convert.c policy/convert_to.c policy/convert_same.c policy/others.c policy/names.c policy/canonical.c policy/home.c policy/workspace.c \
	policy/resolve.c policy/residual.c policy/exception.c policy/nested.c policy/nested_marks.c policy/spared.c policy/base.c policy/setlinks.c policy/sets.c policy/obeyed.c policy/gitruns.c policy/gitconfig.c \
	policy/settings.c policy/absolute.c policy/vars.c policy/roots.c policy/cli.c \
	policy/engine.c policy/showrules.c policy/imgcache.c policy/explain.c \
	policy/merge.c policy/documents.c policy/store.c policy/bundle.c policy/embed.c policy/difference.c \
	policy/lint.c \
	policy/lint_rules.c policy/lint_host.c policy/lint_names.c policy/doctests.c \
	policy/front/source.c policy/format.c

# Which commands only look.
policy_SRCS += policy/approve/argv.c policy/approve/commands.c policy/approve/git.c policy/approve/shell.c

# Documents beside the main one.
policy_SRCS += policy/absorb.c policy/layers.c policy/layer_rules.c policy/undone.c policy/trust.c policy/in_use.c policy/outer.c

# The presets, compiled in as the trees that the YAML reader makes of them.
policy_GEN += presets.c
policy_SRCS += policy/presets/find.c
PRESETS := $(addprefix policy/presets/, \
	default.yaml secrets.yaml protected.yaml readonly.yaml workspace.yaml offline-build.yaml grida-outer.yaml grida-call.yaml \
	npm.yaml pip.yaml cargo.yaml go.yaml codex.yaml claude.yaml gemini.yaml grok.yaml orbit.yaml openshell-default.yaml)
$(B)/gen-presets: $(B)/obj/policy/presets/gen-presets.o $(B)/obj/policy/front/yaml.o \
		$(B)/lib/base.a
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),$(LIBS_POLICY))
$(B)/gen/presets.c: $(B)/gen-presets $(PRESETS) | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q)$(B)/gen-presets $(PRESETS) > $@.tmp && mv $@.tmp $@
DEPS += $(B)/obj/policy/presets/gen-presets.d

# The floor planner and its plans.
policy_SRCS += policy/back/seccomp.c policy/back/syscalls.c policy/back/landlock.c policy/back/floor.c \
	policy/back/floor_gaps.c policy/back/floor_held.c policy/back/floor_broker.c policy/back/floor_show.c policy/back/fsview.c \
	policy/dirfold.c policy/back/mounts.c policy/back/bwrap.c policy/front/caliban_bwrap.c

# The rule language and its compilation into an image.
policy_SRCS += policy/glob.c policy/ruleset.c policy/back/nfa.c policy/back/loops.c \
	policy/back/automaton.c policy/back/product.c policy/back/minimise.c policy/back/dense.c \
	policy/back/literals.c policy/back/foldrules.c policy/back/tables.c policy/back/image.c \
	policy/back/compare.c

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
SBX_PUBLIC := load free check explain decide version
$(B)/libsbx.a: $(B)/lib/policy.a $(B)/lib/base.a $(B)/lib/core.a policy/sbx.h
	$(call say,AR,$@)
	$(Q)$(LD_R) -r -o $(B)/libsbx.o --whole-archive $(filter %.a,$^)
	$(Q)$(OBJCOPY) $(SBX_PUBLIC:%=--keep-global-symbol=sbx_policy_%) $(B)/libsbx.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/libsbx.o && rm -f $(B)/libsbx.o
$(B)/sbx.pc: policy/sbx.pc.in VERSION GNUmakefile | $$(@D)/.d
	$(Q)sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@INCLUDEDIR@,$(INCLUDEDIR),; s,@VERSION@,$(VERSION),' \
		$< >$@
all: $(B)/libsbx.a
