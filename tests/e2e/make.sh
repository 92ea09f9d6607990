#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make -j2 of a generated C project: jobserver, compilers, archives, dependency files.
. "$(dirname "$0")/../support/e2e.sh"

files=$(rounds 10 40)
project()
{
	mkdir src
	for i in $(seq $files); do
		printf '#include "all.h"\nint f%d(int x) { return x + %d; }\n' "$i" "$i" >src/f$i.c
		echo "int f$i(int x);" >>src/all.h
	done
	{
		echo '#include <stdio.h>'
		echo '#include "all.h"'
		echo 'int main(void) { int x = 0;'
		for i in $(seq $files); do echo "x = f$i(x);"; done
		echo 'printf("%d\n", x); return 0; }'
	} >src/main.c
	cat >Makefile <<'MAKE'
SRCS := $(sort $(wildcard src/*.c))
OBJS := $(SRCS:.c=.o)
all: sub prog
sub:
	+@$(MAKE) --no-print-directory libf.a
libf.a: $(filter-out src/main.o,$(OBJS))
	@rm -f $@ && ar rcsD $@ $^ && echo AR $(words $^)
prog: src/main.o sub
	@$(CC) -o $@ src/main.o libf.a && ./$@
%.o: %.c
	@$(CC) -O0 -MMD -MP -c -o $@ $<
fail: all
	@false
-include $(OBJS:.o=.d)
.PHONY: all sub fail
MAKE
}

same_after 'make -j2 builds and runs' project 'make -j2 && ./prog && ls src/*.o | wc -l'
same_after 'make -j2 -k fails as bare' project 'make -j2 -k fail; echo "status $?"'
same_after 'a jobserver from outside is passed through' project '
	cat >Outer <<"OUTER"
all:
	+@$(MAKE) --no-print-directory -f Makefile prog
OUTER
	make -j2 -f Outer'
# The jobserver's pipe crosses sbx-launch itself.
fresh
project
printf 'all:\n\t+@%s $(MAKE) --no-print-directory prog\n' "$SBX" >Outer
make -j2 -f Outer >"$TMP/out" 2>"$TMP/err"
check 'sbx-launch under make -j2 keeps the jobserver' grep -qx $((files * (files + 1) / 2)) "$TMP/out"
check 'and make does not complain' [ ! -s "$TMP/err" ]
exit 0
