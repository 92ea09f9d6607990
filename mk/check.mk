# SPDX-License-Identifier: Apache-2.0
# Checks of the source itself.

# Each header compiles alone.
# macOS's headers stand on those of macOS (mk/darwin.mk).
HDR_OKS := $(patsubst %,$(B)/hdr/%.ok,$(foreach h,$(HDRS),$(if $(findstring /macos/,$(h))$(filter shim/sys_macos.h,$(h)),,$(h))))
check-headers: $(HDR_OKS)
$(B)/hdr/%.ok: % | $$(@D)/.d
	$(Q)$(CC) $(BASE_CFLAGS) -Wno-unused -fsyntax-only -include $< -x c /dev/null && touch $@

# Who may include whom.
check-layers:
	$(Q)awk -f scripts/layers.awk docs/layers.txt $$(git ls-files '*.c' '*.h' | grep -v '^tests/\|^docs/\|/sdk/')

# Length of files and functions; every option in a man page; spelling.
check-lint: all
	$(Q)B=$(B) scripts/lint

# clang-tidy: the checks of .clang-tidy; lint adds its analyzer.
TIDY_SRCS = $(filter %.c,$(foreach m,$(ARCHIVED) shim,$($(m)_SRCS)))
check-tidy: all
	$(Q)B=$(B) scripts/clang-tidy $(TIDY_SRCS)
lint: all
	$(Q)B=$(B) scripts/clang-tidy --analyze $(TIDY_SRCS)

# For clangd and its like: how each file is compiled.
compile_commands.json: $(FLAGS)
	$(Q)scripts/compile-commands '$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS)' \
		'$(CC) $(SHIM_ALL_CFLAGS)' >$@

# Tables that scripts write, and what stands for macOS's headers, keep their shape.
FORMATTED = $$(git ls-files '*.c' '*.h' | grep -v '/sdk/\|_table\.h')
format:
	$(Q)clang-format -i $(FORMATTED)
check-format:
	$(Q)clang-format --dry-run --Werror $(FORMATTED)

# Installs nothing that only tests need; SETUP=no (mk/tests.mk) installs nothing.
run:
	$(if $(filter no,$(SETUP)),,$(Q)scripts/setup build)
	$(Q)$(MAKE) -j$(JOBS) all
ifdef CMD
	$(Q)$(NOT_UNDER_MAKE) $(B)/sbx-launch -v -- /bin/sh -c "$$CMD"
else
	$(Q)$(NOT_UNDER_MAKE) B=$(B) scripts/demo.sh
endif
export CMD

clean:
	$(Q)rm -rf build build-*

help:
	@echo 'make run [CMD="..."]  install what is missing, build, run the main job (or CMD) sandboxed'
	@echo 'make check [FULL=1]   build and test what a change must pass, in minutes; FULL=1: each test in full'
	@echo 'make check-san        unit tests under clang ASan+UBSan'
	@echo 'make check-tsan       what sbx-audit answers in several threads, under gcc'\''s ThreadSanitizer'
	@echo 'make check-kin        what looks at processes, with the broker as the parent'
	@echo 'make check-remedies   what programs advise in tests/e2e is followed: it cures, and opens nothing else'
	@echo 'make check-hosts [HOSTS_ROUNDS=200]  random hosts: --doctor against runs'
	@echo 'make check-fleet [FLEET_HOSTS=10000]  the record of many hosts in two shards of ClickHouse, all killed at random'
	@echo 'make check-fleet-docs  docs/fleet in today'"'"'s ClickHouse, DuckDB, Vector'"'"'s language, rsyslog, Fluent Bit, systemd'
	@echo 'make check-kernels    the floor on Debian'"'"'s kernels in qemu (docs/HOSTS.md); KERNELS_SUBSET=1'
	@echo 'make check-readme     make run and make check in a guest with Debian 12: hours; COMMANDS=run'
	@echo 'make escape           all attacks, races of seconds, with and without namespaces'
	@echo 'make agreement        a million random pairs of rules and paths, a million calls by the broker'
	@echo 'make filters-table hosts-table    the tables of docs/HOSTS.md, made anew'
	@echo 'make darwin darwin-check    macOS, built and tried on Linux'
	@echo 'make check-headers check-layers check-lint check-format check-tidy lint   checks of the source'
	@echo 'make format           clang-format 14, as check-format wants it'
	@echo 'make compile_commands.json   for clangd'
	@echo 'make bench            measure against bare, bwrap, strace'
	@echo 'make bench-steps      where the time of a start goes, step by step'
	@echo 'make bench-peers      beside srt, codex, bwrap, firejail, plain Landlock, strace'
	@echo 'make bench-inspect    requests judged inside of TLS, against TLS, mitmproxy and squid'
	@echo 'make bench-tree       start and memory over 300,000 files, against none'
	@echo 'make bench-record [BENCH_ARGS="EVENTS ROUNDS"]  how fast a record of a million events is written, asked, shown'
	@echo 'make bench-ship       how fast a run of a million events is sent, and in how much memory'
	@echo 'make coverage         what strace sees of fourteen programs, against the record'
	@echo 'make stress [STRESS_SECONDS=600]  threads, forks, signals under the shim'
	@echo 'make kill-storm                  a thousand runs whose processes are killed at random'
	@echo 'make races [RACE_MS=60000]    each answer that lets the kernel go on, attacked for so long'
	@echo 'make soak [SOAK_SECONDS=600]  mixed work under two policies: nothing lost, nothing grows'
	@echo 'make check-differential [SETTINGS=200] [SEED=1]  srt itself beside sbx-launch'
	@echo 'make check-foreign [SUITES="pjdfstest ltp git python"] PJDFSTEST=DIR ...  suites of other projects, bare and inside'
	@echo 'make check-agents     whole tasks of Claude Code, Codex and Gemini CLI (installs them by npm)'
	@echo 'make check-imports    what the programs of this machine import, against its table'
	@echo 'make attack [ATTACK_SECONDS=3600]  random programs against the wall, guided by the lines of the broker'
	@echo 'make attack-planted   holes planted in copies of the product, each to be caught by it'
	@echo 'make fuzz [FUZZ_SECONDS=60]'
	@echo 'make check-arm64      cross-built for arm64: unit tests, the shim, policies, under qemu-user; release-arm64'
	@echo 'make release [RELEASE=build-release/packages]  .deb, tarball, packages for npm'
	@echo 'make dist             the sources of the last commit, a reproducible archive'
	@echo 'make install [PREFIX=/usr/local] [DESTDIR=]   uninstall   clean'
	@echo 'variables: B=dir CC= CFLAGS= SAN=address,undefined V=1 WERROR=1 ARCHIVES=no STATIC= SETUP=no'
.PHONY: check-headers check-layers check-lint check-format check-tidy lint format run clean help
