-- What is refused since yesterday that never was before? The newest first.
SELECT rule, object, min(day) AS first_day, sum(n) AS times, uniqExact(host) AS hosts
FROM sbx.counts FINAL
WHERE denied = 1
GROUP BY rule, object
HAVING first_day >= today() - 1
ORDER BY first_day DESC, hosts DESC
LIMIT 100
