-- Did every run use the same policy? Which bundles are in force, and where is an old one left?
SELECT bundle, bundle_version, bundle_digest, policy, policy_hash, count() AS runs, uniqExact(host) AS hosts,
    max(started) AS last_run
FROM sbx.runs FINAL
WHERE state != 2
GROUP BY bundle, bundle_version, bundle_digest, policy, policy_hash
ORDER BY runs DESC
LIMIT 100
