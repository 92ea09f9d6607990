-- Who reached, or tried to reach, a secret, anywhere? By file and program; 0 in `denied`: it was read.
SELECT object, exe, denied, sum(n) AS times, uniqExact(host) AS hosts, uniqExact(run_id) AS runs
FROM sbx.counts FINAL
WHERE op = 'read' AND rule LIKE 'preset:secrets:%'
GROUP BY object, exe, denied
ORDER BY denied, times DESC
LIMIT 100
