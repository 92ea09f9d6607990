# SPDX-License-Identifier: Apache-2.0
# What every compilation and link gets. Overridable: B CC CFLAGS LDFLAGS SAN V PREFIX DESTDIR.

MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SECONDEXPANSION:

-include config.mk

B ?= build
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
	-DSBX_VERSION='"$(VERSION)"' -DSBX_LIBEXECDIR='"$(LIBEXECDIR)"'
HARDEN_CFLAGS := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
HARDEN_LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,-z,defs -Wl,--as-needed
ifneq ($(SAN),)
HARDEN_CFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -fPIE
HARDEN_LDFLAGS := -fsanitize=$(SAN) -pie
endif

# The shim runs inside other people's processes: no library, no stack protector, no fortify.
SHIM_CFLAGS := -O2 -g -fPIC -fno-stack-protector -U_FORTIFY_SOURCE -fno-builtin -ffreestanding \
	-fno-tree-loop-distribute-patterns -fno-asynchronous-unwind-tables

# Libraries go in as archives where they sit on the launch path: each shared object more costs
# every start about 60 us of ld.so time.
LIBS_POLICY := -Wl,-Bstatic -lyaml -lnettle -Wl,-Bdynamic
LIBS_AUDIT := -Wl,-Bstatic -ljansson -Wl,-Bdynamic
