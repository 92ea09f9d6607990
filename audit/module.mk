audit_SRCS := audit/alone.c audit/callclass.c audit/collector.c audit/entry.c audit/fold.c audit/gaps.c audit/guard.c audit/infofile.c audit/jsonload.c audit/judge.c audit/lines.c \
	audit/log.c audit/logging.c audit/person.c audit/process.c audit/record.c audit/rundir.c audit/runinfo.c \
	audit/runload.c audit/show.c audit/summary.c audit/trust.c audit/twins.c audit/verify.c
