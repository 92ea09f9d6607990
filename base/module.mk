base_SRCS := base/err.c base/mem.c base/str.c base/utf8.c base/parse.c base/io.c base/json.c \
	base/sha256.c base/account.c base/near.c base/opt.c base/opt_help.c base/complete.c base/normalise.c
