-- Which records do not hold together? Each run's lines are all there, numbered as they should be, and the last one
-- is the one that the run ended with. (The links between them need the run's key: 09-chain.sql.)
SELECT host, run_id, lines, there, numbered, last, final
FROM (
    SELECT host, run_id, max(expected) AS lines, sum(here) AS there, sum(right) AS numbered,
        max(tail) AS last, max(head) AS final
    FROM (
        SELECT host, run_id, lines AS expected, toUInt64(0) AS here, toUInt64(0) AS right, '' AS tail,
            substring(final_hash, 1, 32) AS head
        FROM sbx.runs FINAL WHERE state = 1
        UNION ALL
        SELECT host, run_id, toUInt64(0) AS expected, uniqExact(no) AS here, uniqExact(if(no = seq, no, 0)) AS right,
            argMax(chain, no) AS tail, '' AS head
        FROM sbx.events GROUP BY host, run_id
    )
    GROUP BY host, run_id
)
WHERE lines > 0 AND (there != lines OR numbered != lines OR (final != '' AND final != last))
ORDER BY host, run_id
LIMIT 100
