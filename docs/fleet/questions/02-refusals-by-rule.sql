-- Which rule refuses most?
SELECT rule, sum(n) AS times, uniqExact(host) AS hosts, uniqExact(run_id) AS runs, any(object) AS example
FROM sbx.counts FINAL
WHERE denied = 1
GROUP BY rule
ORDER BY times DESC
LIMIT 100
