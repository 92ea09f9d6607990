-- Which programs ran without the shim, so that only the kernel's and the broker's word is known of them?
SELECT object AS program, sum(n) AS times, uniqExact(host) AS hosts, uniqExact(run_id) AS runs
FROM sbx.counts FINAL
WHERE kind = 'unwitnessed'
GROUP BY program
ORDER BY hosts DESC, times DESC
LIMIT 100
