# SPDX-License-Identifier: Apache-2.0
# What every compilation and link gets. Overridable: B CC CFLAGS LDFLAGS SAN V PREFIX DESTDIR.

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SECONDEXPANSION:

-include config.mk

B ?= build
# one word for it, whoever calls: flags and objects are kept by it
override B := $(patsubst $(CURDIR)/%,%,$(B))
V ?= 0
SAN ?=
# undefined: a make started by this one inherits -R
ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := ar
endif
LD_R ?= ld
# before programs of this build that the build runs: those of another machine (mk/arm64.mk)
EMULATOR ?=
OBJCOPY ?= objcopy
ifneq ($(V),0)
Q :=
else
Q := @
endif
say = @$(if $(filter 0,$(V)),printf '  %-7s %s\n' '$(1)' '$(2)',:)

# A make inside the command is its own, not a part of this one.
NOT_UNDER_MAKE := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES

VERSION := $(shell cat VERSION)

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wswitch-enum -Wundef -Wcast-qual -Wwrite-strings -Wpointer-arith
ifneq ($(WERROR),)
WARN += -Werror
endif

CFLAGS ?= -O2 -g
BASE_CFLAGS := -std=gnu17 $(WARN) -I. -I$(B)/gen -D_GNU_SOURCE -fno-common -fvisibility=hidden \
	-DSBX_VERSION='"$(VERSION)"'
# What lets the linker leave out what nobody asks for, and no tables for unwinding: the launcher
# starts every command, and its size is pages to be read.
SECTIONS ?= -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
HARDEN_CFLAGS := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE $(SECTIONS)
HARDEN_LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,-z,defs -Wl,--as-needed
ifneq ($(SAN),)
HARDEN_CFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -fPIE
HARDEN_LDFLAGS := -fsanitize=$(SAN) -pie
endif

# The shim runs inside other people's processes: no library, no stack protector, no fortify.
SHIM_CFLAGS := -O2 -g -fPIC -fno-stack-protector -U_FORTIFY_SOURCE -fno-builtin -ffreestanding \
	-fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables
# gcc and clang call libgcc for atomics of arm64 that might be of v8.1; there is no libgcc in it
ifneq ($(filter aarch64%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
SHIM_CFLAGS += -mno-outline-atomics
endif

# Libraries go in as archives where they sit on the launch path: each shared object more costs
# every start about 60 us of ld.so time. ARCHIVES=no, the default where an archive is missing
# (distributions that have shared libraries alone): as pkg-config says.
archive = $(wildcard $(shell $(CC) -print-file-name=lib$(1).a))
ARCHIVES ?= $(if $(and $(call archive,yaml),$(call archive,nettle),$(call archive,jansson)),yes,no)
PKG_CONFIG ?= pkg-config
comma := ,
shared = $(or $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null),$(2))
ifeq ($(ARCHIVES),yes)
LIBS_POLICY := -Wl,-Bstatic -lyaml -lnettle -Wl,-Bdynamic
LIBS_AUDIT := -Wl,-Bstatic -ljansson -lzstd -Wl,-Bdynamic
else
LIBS_POLICY := $(call shared,yaml-0.1 nettle,-lyaml -lnettle)
LIBS_AUDIT := $(call shared,jansson,-ljansson)
endif

# OpenSSL, for sbx-egress alone, which no start waits for: shared, so that what a distribution mends
# in it reaches runs. In packages, which run on each host, it is inside.
LIBS_TLS := $(if $(ALL_STATIC),-Wl$(comma)-Bstatic -lssl -lcrypto -Wl$(comma)-Bdynamic,$(call shared,libssl libcrypto,-lssl -lcrypto))

# These goals build nothing, and leave no word of how they were called.
BUILDS_NOTHING := $(filter clean help setup format uninstall,$(MAKECMDGOALS))

# What is built follows the flags it is built with: objects and programs depend on this file, which
# changes when they do.
FLAGS_NOW = $(subst ',,$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(HARDEN_LDFLAGS) $(CFLAGS) $(LDFLAGS) \
	$(SHIM_CFLAGS) $(LIBS_POLICY) $(LIBS_AUDIT) $(LIBS_TLS))
FLAGS := $(B)/flags
ifneq ($(strip $(FLAGS_NOW)),$(strip $(shell cat $(FLAGS) 2>/dev/null)))
ifeq ($(BUILDS_NOTHING),)
$(shell mkdir -p $(B) && printf '%s\n' '$(strip $(FLAGS_NOW))' >$(FLAGS))
endif
endif

# And what names the places of an installation, on these; programs read places.h.
PLACES_NOW = $(PREFIX) $(LIBEXECDIR) $(LIBDIR) $(INCLUDEDIR) $(VERSION)
PLACES := $(B)/places
ifneq ($(strip $(PLACES_NOW)),$(strip $(shell cat $(PLACES) 2>/dev/null)))
ifeq ($(BUILDS_NOTHING),)
$(shell mkdir -p $(B)/gen && printf '%s\n' '$(strip $(PLACES_NOW))' >$(PLACES) && \
	printf '\043define SBX_LIBEXECDIR "%s"\n' '$(LIBEXECDIR)' >$(B)/gen/places.h)
endif
endif

# The launcher without shared objects, where there are archives of them all: ld.so takes a quarter
# of a millisecond, half of what executing a program takes. STATIC= links it as the others.
STATIC ?= $(if $(SAN)$(filter no,$(ARCHIVES)),,$(if $(wildcard $(shell $(CC) -print-file-name=libc.a)),$(wildcard $(shell $(CC) -print-file-name=rcrt1.o))))

# How objects become programs and libsbx.a: these depend on it. tests/live/stale.sh knows each variable.
LINKING_NOW = $(AR) $(LD_R) $(OBJCOPY) STATIC=$(STATIC) ALL_STATIC=$(ALL_STATIC)
LINKING := $(B)/linking
ifneq ($(strip $(LINKING_NOW)),$(strip $(shell cat $(LINKING) 2>/dev/null)))
ifeq ($(BUILDS_NOTHING),)
$(shell mkdir -p $(B) && printf '%s\n' '$(strip $(LINKING_NOW))' >$(LINKING))
endif
endif
