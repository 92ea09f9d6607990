# Programs: their main() is cmd/<program>.c; what else they are made of.
sbx-policy_SRCS := cmd/ask.c cmd/ask_why.c cmd/ask_macos.c cmd/ask_show.c cmd/ask_store.c cmd/ask_diff.c \
	cmd/ask_test.c cmd/ask_lint.c cmd/ask_fmt.c cmd/ask_compile.c cmd/ask_convert.c cmd/ask_approve.c
