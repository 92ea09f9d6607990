audit_SRCS := $(wildcard audit/*.c)
