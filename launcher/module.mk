# The floor of Linux.
launcher_SRCS += launcher/linux/seccomp.c launcher/linux/caps.c launcher/linux/fds.c launcher/linux/inherited.c \
	launcher/linux/netns.c launcher/linux/isolate.c launcher/linux/landlock.c launcher/linux/confine.c \
	launcher/linux/probe.c launcher/linux/serving.c launcher/linux/servingcache.c \
	launcher/servingwhy.c launcher/servingplan.c launcher/linux/verdict.c launcher/doctor.c

# The broker (launcher/broker.h).
launcher_SRCS += launcher/linux/fdpass.c launcher/linux/broker/calls.c launcher/linux/broker/trapfilter.c \
	launcher/linux/broker/trap.c launcher/linux/broker/greet.c launcher/linux/broker/proceed.c launcher/linux/broker/notify.c launcher/linux/broker/watch.c \
	launcher/linux/broker/caller.c launcher/linux/broker/resolve.c \
	launcher/linux/broker/walk.c launcher/linux/broker/deep.c launcher/linux/broker/open.c launcher/linux/broker/how.c \
	launcher/linux/broker/change.c launcher/linux/broker/folds.c launcher/linux/broker/leads.c launcher/linux/broker/move.c \
	launcher/linux/broker/tree.c launcher/linux/broker/check.c \
	launcher/linux/broker/meta.c launcher/linux/broker/attrs.c \
	launcher/linux/broker/socket.c launcher/linux/broker/exec.c launcher/linux/broker/programs.c launcher/linux/broker/grantroots.c launcher/linux/broker/nodes.c \
	launcher/linux/broker/lent.c launcher/linux/broker/refuse.c launcher/linux/broker/ownproc.c \
	launcher/linux/broker/events.c launcher/linux/broker/confine.c

# The seccomp programs are compiled while building, not while launching.
launcher_SRCS += launcher/linux/bpfgraph.c launcher/linux/filtercode.c
launcher_GEN += filters.c
$(B)/gen-filters: $(B)/obj/launcher/linux/gen-filters.o $(B)/obj/launcher/linux/bpfgraph.o \
		$(B)/obj/launcher/linux/filtercode.o \
		$(B)/obj/policy/back/seccomp.o $(B)/obj/policy/back/syscalls.o $(B)/lib/base.a
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),)
$(B)/gen/filters.c: $(B)/gen-filters | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q)$(B)/gen-filters > $@.tmp && mv $@.tmp $@
DEPS += $(B)/obj/launcher/linux/gen-filters.d

# Around the floor: from options to exit status.
launcher_SRCS += launcher/options.c launcher/policyopts.c launcher/run.c launcher/run_command.c launcher/dirs.c launcher/agents.c launcher/stdio.c launcher/scratch.c \
	launcher/tree.c launcher/channel.c launcher/shimpath.c launcher/environment.c launcher/envnames.c launcher/envplan.c launcher/hide.c \
	launcher/program.c launcher/plan.c launcher/planlosses.c launcher/devnodes.c launcher/identity.c launcher/require.c launcher/record.c launcher/summary.c launcher/dryrun.c launcher/losses.c \
	launcher/outcome.c launcher/parts.c launcher/macopts.c launcher/script.c launcher/printenv.c launcher/printargv.c launcher/approve.c launcher/surround.c launcher/redact.c launcher/capture.c launcher/exec_io.c launcher/exec_result.c launcher/exec_show.c launcher/foreground.c launcher/supervise.c launcher/supervise_table.c launcher/linux/terminal.c \
	launcher/linux/signals.c launcher/linux/limits.c launcher/linux/timer.c launcher/linux/guard.c launcher/linux/processes.c launcher/linux/spawn.c \
	launcher/linux/exec.c launcher/linux/exec_signals.c launcher/linux/execclass.c launcher/linux/runs.c launcher/linux/hello.c launcher/linux/reports.c launcher/linux/wrap.c launcher/linux/stage2.c launcher/linux/interp.c launcher/linux/os.c launcher/linux/nest_wire.c launcher/linux/nest_client.c launcher/linux/nest_server.c \
	launcher/linux/nest_guest.c launcher/linux/nest_plan.c

# What the command may use.
launcher_SRCS += launcher/bounds.c launcher/linux/boundsplan.c launcher/linux/cgroup.c

# One command of an agent.
launcher_SRCS += launcher/call.c

# Attacks on the floor, static so that no preload stands before them (tests/escape/run.sh).
launcher_PROBES := launcher/linux/selftest/probes.c launcher/linux/selftest/files.c launcher/linux/selftest/changes.c \
	launcher/linux/selftest/races.c \
	launcher/linux/selftest/processes.c launcher/linux/selftest/system.c \
	launcher/linux/selftest/outside.c
launcher_SRCS += $(launcher_PROBES) launcher/linux/selftest/selftest.c
ESCAPE_SRCS := tests/escape/probe.c $(launcher_PROBES)
EXTRA_TEST_BINS += $(B)/tests/escape-probe
$(B)/tests/escape-probe: $(ESCAPE_SRCS) launcher/linux/selftest/probes.h | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $(ESCAPE_SRCS) -lpthread

INHERIT_SRCS := tests/escape/inherit.c launcher/linux/inherited.c $(launcher_PROBES)
# with base.a, and static: where that has no sanitizer in it
EXTRA_TEST_BINS += $(if $(SAN),,$(B)/tests/inherit)
$(B)/tests/inherit: $(INHERIT_SRCS) launcher/linux/inherited.h launcher/linux/selftest/probes.h \
		$(B)/lib/base.a | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $(INHERIT_SRCS) $(B)/lib/base.a -lpthread
