audit_SRCS := audit/collector.c audit/fold.c audit/judge.c audit/log.c audit/person.c \
	audit/process.c audit/record.c audit/rundir.c audit/runinfo.c
