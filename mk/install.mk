MANPAGES := $(wildcard docs/man/*.[1-8])

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/sbx-launch $(DESTDIR)$(MANDIR)
	install -m 755 $(PROGRAMS:%=$(B)/%) $(DESTDIR)$(BINDIR)
	install -m 644 $(SHIM_PRODUCTS) $(DESTDIR)$(LIBEXECDIR)/sbx-launch
	set -e; install -d $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR); \
	for p in $(PROGRAMS); do \
		$(B)/$$p --completion bash >$(DESTDIR)$(BASHCOMPDIR)/$$p; \
		$(B)/$$p --completion zsh >$(DESTDIR)$(ZSHCOMPDIR)/_$$p; \
		$(B)/$$p --completion fish >$(DESTDIR)$(FISHCOMPDIR)/$$p.fish; done
	set -e; for m in $(MANPAGES); do s=$${m##*.}; install -d $(DESTDIR)$(MANDIR)/man$$s; \
		install -m 644 $$m $(DESTDIR)$(MANDIR)/man$$s; done

uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(BINDIR)/%) $(PROGRAMS:%=$(DESTDIR)$(BASHCOMPDIR)/%) \
		$(PROGRAMS:%=$(DESTDIR)$(ZSHCOMPDIR)/_%) $(PROGRAMS:%=$(DESTDIR)$(FISHCOMPDIR)/%.fish)
	rm -rf $(DESTDIR)$(LIBEXECDIR)/sbx-launch
	set -e; for m in $(notdir $(MANPAGES)); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$$m; done
.PHONY: install uninstall
