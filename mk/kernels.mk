# SPDX-License-Identifier: Apache-2.0
# The kernels people have, in qemu: docs/HOSTS.md. KERNELS_SUBSET=1 is about two minutes on an idle machine.
check-kernels: tests-build
	$(Q)B=$(B) tests/kernels/check.sh
# README's two commands in a guest with Debian 12's own kernel: hours without hardware virtualisation.
check-readme:
	$(Q)B=$(B) tests/kernels/readme.sh
hosts-table:
	$(Q)awk -f tests/kernels/refused.awk -f tests/kernels/table.awk $(B)/logs/kernels/results >$(B)/logs/kernels/table
	$(Q)sed -i -e '/^<!-- table/,/^<!-- end/{//!d}' -e '/^<!-- table/r $(B)/logs/kernels/table' docs/HOSTS.md
.PHONY: check-kernels check-readme hosts-table
