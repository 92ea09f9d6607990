# SPDX-License-Identifier: Apache-2.0
# What only debuggers read costs each start a tenth of a millisecond: the file is larger. STRIP= keeps
# it, as packagers want it who strip themselves.
STRIP ?= strip
MANPAGES := $(wildcard docs/man/*.[1-8])

install: all $(B)/sbx.pc
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/sbx-launch $(DESTDIR)$(MANDIR)
	install -m 755 $(PROGRAMS:%=$(B)/%) $(DESTDIR)$(BINDIR)
	ln -sf sbx-launch $(DESTDIR)$(BINDIR)/sbx-shell
	install -m 644 $(SHIM_PRODUCTS) $(DESTDIR)$(LIBEXECDIR)/sbx-launch
	install -m 755 $(HELPERS:%=$(B)/%) $(DESTDIR)$(LIBEXECDIR)/sbx-launch
	$(if $(STRIP),$(STRIP) --strip-unneeded $(PROGRAMS:%=$(DESTDIR)$(BINDIR)/%) $(HELPERS:%=$(DESTDIR)$(LIBEXECDIR)/sbx-launch/%) $(patsubst %,$(DESTDIR)$(LIBEXECDIR)/sbx-launch/%,$(notdir $(SHIM_PRODUCTS))))
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(B)/libsbx.a $(DESTDIR)$(LIBDIR)
	install -m 644 $(B)/sbx.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 policy/sbx.h $(DESTDIR)$(INCLUDEDIR)
	install -d $(DESTDIR)$(LIBEXECDIR)/sbx-launch/apparmor
	install -m 644 docs/apparmor/sbx-launch $(DESTDIR)$(LIBEXECDIR)/sbx-launch/apparmor
	install -d $(DESTDIR)$(PREFIX)/share/sbx-launch
	install -m 644 docs/lnav/sbx-launch.json $(DESTDIR)$(PREFIX)/share/sbx-launch/lnav.json
	set -e; install -d $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR); \
	for p in $(PROGRAMS); do \
		$(EMULATOR) $(B)/$$p --completion bash >$(DESTDIR)$(BASHCOMPDIR)/$$p; \
		$(EMULATOR) $(B)/$$p --completion zsh >$(DESTDIR)$(ZSHCOMPDIR)/_$$p; \
		$(EMULATOR) $(B)/$$p --completion fish >$(DESTDIR)$(FISHCOMPDIR)/$$p.fish; done
	set -e; for m in $(MANPAGES); do s=$${m##*.}; install -d $(DESTDIR)$(MANDIR)/man$$s; \
		install -m 644 $$m $(DESTDIR)$(MANDIR)/man$$s; done

uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(BINDIR)/%) $(DESTDIR)$(BINDIR)/sbx-shell $(PROGRAMS:%=$(DESTDIR)$(BASHCOMPDIR)/%) \
		$(PROGRAMS:%=$(DESTDIR)$(ZSHCOMPDIR)/_%) $(PROGRAMS:%=$(DESTDIR)$(FISHCOMPDIR)/%.fish)
	rm -rf $(DESTDIR)$(LIBEXECDIR)/sbx-launch $(DESTDIR)$(PREFIX)/share/sbx-launch
	rm -f $(DESTDIR)$(LIBDIR)/libsbx.a $(DESTDIR)$(LIBDIR)/pkgconfig/sbx.pc $(DESTDIR)$(INCLUDEDIR)/sbx.h
	set -e; for m in $(notdir $(MANPAGES)); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$$m; done
.PHONY: install uninstall
