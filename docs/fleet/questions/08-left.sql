-- What left, by host of the network? 1 in `denied`: it was tried.
SELECT object AS peer, denied, sum(n) AS connections, uniqExact(host) AS hosts, uniqExact(exe) AS programs
FROM sbx.counts FINAL
WHERE op = 'connect'
GROUP BY peer, denied
ORDER BY hosts DESC, connections DESC
LIMIT 100
