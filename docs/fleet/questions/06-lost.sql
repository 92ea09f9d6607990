-- Which hosts lost events? In the record (the ring or the disk was full), and records that were removed before
-- they were sent.
SELECT host, sum(events) AS events_lost, sum(removed) AS runs_removed
FROM (
    SELECT host, sum(lost) AS events, toUInt64(0) AS removed FROM sbx.counts FINAL WHERE kind = 'gap' GROUP BY host
    UNION ALL
    SELECT host, toUInt64(0) AS events, count() AS removed FROM sbx.runs FINAL WHERE state = 2 GROUP BY host
)
GROUP BY host
ORDER BY events_lost DESC, runs_removed DESC
LIMIT 100
