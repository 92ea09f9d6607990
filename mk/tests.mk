# SPDX-License-Identifier: Apache-2.0
# Tests. tests/unit/<module>/test_<file>.c: one Criterion program each. tests/**/*.sh: TAP.

TEST_SUPPORT_SRCS := $(wildcard tests/support/*.c)
TEST_SUPPORT_TOOLS := $(filter tests/support/mk%.c tests/support/widened.c,$(TEST_SUPPORT_SRCS))
TEST_SUPPORT_LIB := $(filter-out $(TEST_SUPPORT_TOOLS),$(TEST_SUPPORT_SRCS))
TEST_LIBS := -lcriterion -lpcre2-8 -ljansson -lzstd -lyaml -lnettle -lssl -lcrypto -lpthread

UNIT_SRCS := $(sort $(wildcard tests/unit/*/test_*.c tests/agreement/test_*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(B)/%)
TOOL_BINS := $(TEST_SUPPORT_TOOLS:tests/support/%.c=$(B)/tests/%)
BENCH_SRCS := $(wildcard tests/bench/bench_*.c)
BENCH_BINS := $(BENCH_SRCS:%.c=$(B)/%)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BINS := $(FUZZ_SRCS:%.c=$(B)/%)

$(B)/lib/test-support.a: $(TEST_SUPPORT_LIB:%.c=$(B)/obj/%.o) | $$(@D)/.d
	$(Q)rm -f $@ && $(AR) rcs $@ $^

TEST_ARCHIVES := $(B)/lib/test-support.a $(call lib,launcher egress adopt ship bundle audit sbpl policy base core)

$(UNIT_BINS) $(BENCH_BINS): $(B)/%: $(B)/obj/%.o $(TEST_ARCHIVES) | $$(@D)/.d
	$(call say,LD,$@)
	$(call link,$<,$(filter %.a,$^),$(TEST_LIBS))
$(TOOL_BINS): $(B)/tests/%: $(B)/obj/tests/support/%.o $(TEST_ARCHIVES) | $$(@D)/.d
	$(call say,LD,$@)
	$(call link,$<,$(filter %.a,$^),$(TEST_LIBS))

# Fuzz targets: clang's libFuzzer when FUZZER=1, else a driver that replays a corpus.
$(FUZZ_BINS): $(B)/%: $(B)/obj/%.o $(TEST_ARCHIVES) | $$(@D)/.d
	$(call say,LD,$@)
	$(Q)$(CC) $(HARDEN_LDFLAGS) -fsanitize=fuzzer -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)

DEPS += $(UNIT_SRCS:%.c=$(B)/obj/%.d) $(TEST_SUPPORT_SRCS:%.c=$(B)/obj/%.d) \
	$(BENCH_SRCS:%.c=$(B)/obj/%.d) $(FUZZ_SRCS:%.c=$(B)/obj/%.d)
-include $(UNIT_SRCS:%.c=$(B)/obj/%.d) $(TEST_SUPPORT_SRCS:%.c=$(B)/obj/%.d) \
	$(BENCH_SRCS:%.c=$(B)/obj/%.d) $(FUZZ_SRCS:%.c=$(B)/obj/%.d)

# A command that lies in the ring.
EXTRA_TEST_BINS += $(B)/tests/ring_liar
$(B)/tests/ring_liar: tests/probe/ring_liar.c $(call lib,core) | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(if $(SAN),-fsanitize=$(SAN)) -fPIE -pie -o $@ $^ -lpthread

# One that no shim sees.
EXTRA_TEST_BINS += $(B)/tests/hidden_act
$(B)/tests/hidden_act: tests/probe/hidden_act.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -static -o $@ $< -lpthread

# Processes that are hard to find.
EXTRA_TEST_BINS += $(B)/tests/lineage
$(B)/tests/lineage: tests/probe/lineage.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -static -o $@ $< -lpthread

# Asks a run's network of many endpoints.
EXTRA_TEST_BINS += $(B)/tests/netask
$(B)/tests/netask: tests/probe/netask.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIE -pie -o $@ $<

EXTRA_TEST_BINS += $(B)/tests/errno_matrix
$(B)/tests/errno_matrix: tests/probe/errno_matrix.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIE -pie -o $@ $<

# What tries paths inside srt and inside sbx-launch.
EXTRA_TEST_BINS += $(B)/tests/srt_probe
$(B)/tests/srt_probe: tests/differential/srt_probe.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIE -pie -o $@ $<

# The longest first, so that none of them runs alone at the end.
SHELL_TESTS = $(sort $(wildcard tests/escape/run*.sh tests/live/*.sh)) $(sort $(wildcard tests/e2e/*.sh))

tests-build: all $(UNIT_BINS) $(TOOL_BINS) $(EXTRA_TEST_BINS)
check-unit: $(UNIT_BINS) $(TOOL_BINS) all $(EXTRA_TEST_BINS)
	$(Q)B=$(B) scripts/run-tests unit $(UNIT_BINS)
check-e2e: tests-build
	$(Q)B=$(B) scripts/run-tests e2e $(SHELL_TESTS)
# What a change must pass; FULL=1: each test in its full form (tests/support/e2e.sh), before a release.
# Installs what is missing first (apt), says so, is silent when done.
export FULL
check: setup
	$(Q)$(MAKE) -j$(JOBS) tests-build
	$(Q)B=$(B) scripts/run-tests all tests/remedies/run.sh $(SHELL_TESTS) $(UNIT_BINS)
# All advice that the scripts of tests/e2e are given is followed; `check` has some of it.
check-remedies: export REMEDIES := all
check-remedies: tests-build
	$(Q)B=$(B) TEST_TIMEOUT=7200 AGAIN=no scripts/run-tests remedies tests/remedies/run.sh
.PHONY: bench-inspect check-remedies
check-san: setup
	$(Q)$(MAKE) -j$(JOBS) B=build-san CC=clang SAN=address,undefined WERROR=1 san-build
	$(Q)B=build-san scripts/run-tests san $(UNIT_SRCS:%.c=build-san/%)
san-build: $(UNIT_BINS) $(EXTRA_TEST_BINS)
# The views that read a log in several threads, and the ring, under gcc's ThreadSanitizer.
check-tsan: setup
	$(Q)$(MAKE) -j$(JOBS) $(B)/sbx-audit $(B)/tests/mklarge $(B)/tests/tsan-ring
	$(Q)$(MAKE) -j$(JOBS) B=build-tsan CC=gcc SAN=thread build-tsan/sbx-audit
	$(Q)TEST_TIMEOUT=3600 PLAIN=$(abspath $(B)) B=$(abspath build-tsan) scripts/run-tests tsan tests/tsan/views.sh
	$(Q)B=$(B) scripts/run-tests tsan-ring tests/live/ring_tsan.sh
.PHONY: check-tsan
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

# More than a million random pairs of rules and paths, by all judges, and of rules and endpoints; a
# million calls by the broker; a million endpoints by engine, broker and relay.
agreement: $(B)/tests/agreement/test_engine $(B)/tests/agreement/test_broker $(B)/tests/agreement/test_connect all $(B)/tests/netask
	$(Q)AGREEMENT_TIMES=10 $<
	$(Q)AGREEMENT_TIMES=10 $(B)/tests/agreement/test_connect
	$(Q)SBX_ROUNDS=3000 $(B)/tests/agreement/test_broker
	$(Q)B=$(B) AGREE_SETS=400 bash tests/e2e/connect_agree.sh

# All attacks, races of seconds, and the same where no namespace can be had, or is wanted.
escape: tests-build
	$(Q)B=$(B) SBX_RACE_MS=5000 tests/escape/run.sh
	$(Q)B=$(B) ON='--no namespaces' SBX_RACE_MS=2000 tests/escape/run.sh
	$(Q)B=$(B) SBX_ARGS='--isolate none' tests/escape/run.sh
	$(Q)B=$(B) tests/escape/run-host.sh
	$(Q)B=$(B) ALL=1 bash tests/escape/run-inherited.sh

# Whole tasks of agents under their presets, without a network. Installs them by npm first.
AGENTS ?= $(B)/agents
AGENT_PACKAGES := @anthropic-ai/claude-code @openai/codex @google/gemini-cli @qwen-code/qwen-code \
	opencode-ai @opencode-ai/plugin
check-agents: setup tests-build
	$(Q)mkdir -p $(AGENTS) && npm install --prefix $(AGENTS) --silent --no-audit --no-fund --ignore-scripts \
		$(AGENT_PACKAGES)
	$(Q)cd $(AGENTS)/node_modules/@anthropic-ai/claude-code && node install.cjs
	$(Q)cd $(AGENTS)/node_modules/opencode-ai && node postinstall.mjs
	$(Q)for a in claude codex gemini qwen opencode; do test -x $(AGENTS)/node_modules/.bin/$$a || exit 1; done
	$(Q)chmod -R a+rX $(AGENTS)
	$(Q)B=$(B) SBX_AGENTS=$(abspath $(AGENTS)) scripts/run-tests agents tests/e2e/agents.sh tests/e2e/obeyed.sh

# Each answer that lets the kernel go on with a call, attacked for a minute (default) a row.
RACE_MS ?= 60000
races: $(B)/tests/unit/launcher/test_broker_proceed $(B)/tests/unit/launcher/test_broker_races
	$(Q)B=$(B) SBX_RACE_MS=$(RACE_MS) TEST_TIMEOUT=7200 scripts/run-tests races $^

# srt itself beside sbx-launch: SETTINGS random settings, as root and as an ordinary user.
SETTINGS ?= 200
SEED ?= 1
check-differential: setup
	$(Q)$(MAKE) -j$(JOBS) all $(B)/tests/srt_probe
	$(Q)B=$(B) tests/differential/run $(SETTINGS) $(SEED)

# Suites of other projects, bare and inside; those whose sources are not here are skipped (tests/foreign/run.py).
check-foreign: all
	$(Q)python3 tests/foreign/run.py $(B)/sbx-launch $(SUITES)
.PHONY: check-foreign

# Ten minutes of mixed work under two policies: no wrong or lost answer, nothing grows.
SOAK_SECONDS ?= 600
soak: all $(B)/tests/soak
	$(Q)B=$(B) tests/soak/run $(SOAK_SECONDS)
$(B)/tests/soak: tests/soak/soak.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -fPIE -pie -o $@ $< -lpthread

# The record of a fleet: two shards of ClickHouse as plain processes, which with the senders and the network
# between them are killed at random moments; docs/fleet answers afterwards. Nothing is installed: Debian's packages of it
# are unpacked once, below B.
FLEET_HOSTS ?= 10000
FLEET_EVENTS ?= 1000
FLEET_KILLS ?= 100
check-fleet:
	$(Q)$(MAKE) -j$(JOBS) all
	$(Q)test -x $(B)/sbx-ship || { echo 'check-fleet: sbx-ship is not built: libcurl and zlib have no headers here (scripts/setup)'; exit 1; }
	$(Q)tests/fleet/unpack $(B)/clickhouse
	$(Q)B=$(B) tests/fleet/run $(FLEET_HOSTS) $(FLEET_EVENTS) $(FLEET_KILLS) $(FLEET_SEED)
.PHONY: check-fleet

# What docs/fleet says of other programs: of today's ClickHouse, DuckDB and Vector's language, which npm has as libraries;
# of systemd, rsyslog and Fluent Bit where they are installed (status 77: not here).
FLEET_NODE ?= $(B)/fleet
FLEET_NODE_PACKAGES := chdb@3 @duckdb/node-api@1 @bpinternal/verel@0.2
FLEET_TRIALS := units rsyslog fluentbit today.mjs sender.mjs duckdb.mjs vector.mjs
check-fleet-docs: setup all
	$(Q)mkdir -p $(FLEET_NODE) && npm install --prefix $(FLEET_NODE) --silent --no-audit --no-fund --ignore-scripts \
		$(FLEET_NODE_PACKAGES)
	$(Q)failed=0; for t in $(FLEET_TRIALS); do \
		case $$t in *.mjs) set -- node ;; *) set -- ;; esac; \
		B=$(B) FLEET_NODE=$(FLEET_NODE) "$$@" tests/fleet/$$t; \
		case $$? in 0) ;; 77) echo "skipped: $$t" ;; *) echo "failed: $$t"; failed=1 ;; esac; done; exit $$failed
.PHONY: check-fleet-docs

# The files that look at processes, as on a host whose Yama wants the broker to be the parent.
check-kin check-hosts filters-table check-agents kill-storm stress races escape: export FULL := 1
KIN_TESTS := $(patsubst %,tests/e2e/%.sh,status stdio terminal exec isolate runs nested broker make git)
check-kin: tests-build
	$(Q)E2E_KIN=parent B=$(B) scripts/run-tests kin $(KIN_TESTS)

# Two hundred random hosts (filters, lacks, whereabouts) x policies: --doctor says what a run does.
HOSTS_ROUNDS ?= 200
check-hosts: tests-build
	$(Q)HOSTS_ROUNDS=$(HOSTS_ROUNDS) TEST_TIMEOUT=3600 B=$(B) scripts/run-tests hosts tests/e2e/hosts_agree.sh

# The tables of docs/HOSTS.md on filters and on places.
filters-table: tests-build
	$(Q)HOSTS_TABLE=$(abspath $(B))/filters.md HOSTS_ROUNDS=0 B=$(B) scripts/run-tests table \
		tests/e2e/hosts_agree.sh
	$(Q)python3 tests/support/hosts.py --into docs/HOSTS.md filters $(B)/filters.md
	$(Q)python3 tests/support/hosts.py --into docs/HOSTS.md places $(B)/filters-places.md

# A thousand runs whose processes are killed at random: nothing is left, nothing half-written.
kill-storm: tests-build
	$(Q)B=$(B) STORM_ROUNDS=$(or $(STORM_ROUNDS),500) tests/e2e/kill_storm.sh

fuzz-build: $(FUZZ_BINS)
# FUZZ_SECONDS per target; CI uses 10.
FUZZ_SECONDS ?= 60
fuzz: setup
	$(Q)$(MAKE) -j$(JOBS) B=build-fuzz CC=clang SAN=address,undefined fuzz-build \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link'
	$(Q)B=build-fuzz JOBS=$(JOBS) scripts/run-fuzz $(FUZZ_SECONDS) $(FUZZ_SRCS:%.c=build-fuzz/%)

bench: setup
	$(Q)$(MAKE) -j$(JOBS) all bench-build
	$(Q)B=$(B) tests/bench/run $(BENCH_ARGS)
bench-build: $(BENCH_BINS) $(TOOL_BINS)
# What a start costs over 300,000 files, and 10,000 that a pattern denies, against none.
bench-tree: setup
	$(Q)$(MAKE) -j$(JOBS) all bench-build
	$(Q)B=$(B) tests/bench/tree

# Others that confine or trace: those of npm are fetched first. PEERS_ARGS: rounds of starts, of works, files.
bench-peers: setup
	$(Q)$(MAKE) -j$(JOBS) all bench-build $(B)/tests/escape-probe $(B)/tests/mkhost $(B)/tests/minimal_landlock
	$(Q)B=$(B) tests/bench/peers --fetch
	$(Q)B=$(B) tests/bench/peers $(PEERS_ARGS)
$(B)/tests/minimal_landlock: tests/bench/minimal_landlock.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -static -o $@ $<
.PHONY: bench-peers

# Requests judged inside of TLS against TLS itself, mitmproxy and squid. BENCH_ARGS='ROUNDS SCALE'
bench-inspect: setup
	$(Q)$(MAKE) -j$(JOBS) all bench-build
	$(Q)B=$(B) tests/bench/inspect.sh $(BENCH_ARGS)

# Where the time of a start goes, step by step, in a build of its own.
bench-steps: setup
	$(Q)$(MAKE) -j$(JOBS) B=build-marks CFLAGS='-O2 -g -DSBX_MARKS' all
	$(Q)B=build-marks tests/bench/steps $(BENCH_ARGS)

# Installs packages, and prints their names first; SETUP=no installs none.
SETUP ?= yes
setup:
	$(if $(filter no,$(SETUP)),,$(Q)scripts/setup)
# A record of a million events: written, asked, shown in a browser.
bench-record: setup
	$(Q)$(MAKE) -j$(JOBS) all $(B)/tests/mklarge
	$(Q)B=$(B) tests/bench/record $(BENCH_ARGS)
# The same run sent to a server that only reads.
bench-ship: setup
	$(Q)$(MAKE) -j$(JOBS) all $(B)/tests/mklarge
	$(Q)B=$(B) tests/bench/ship
.PHONY: bench-ship
.PHONY: bench-record bench-steps check-kin check-hosts filters-table all agreement check-differential escape races soak kill-storm check check-unit check-e2e check-agents check-san san-build tests-build fuzz fuzz-build bench bench-build bench-tree setup
