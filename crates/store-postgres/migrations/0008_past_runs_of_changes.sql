-- Older changes get the run of the latest version of their aspect. Other servers read and append to the log meanwhile.
UPDATE change_log AS l SET run = a.run
FROM (
    SELECT urn, aspect, docent_run(systemmetadata) AS run
    FROM metadata_aspect_v2 WHERE version = 0
    OFFSET 0 -- Computes each run once.
) AS a
WHERE a.urn = l.urn AND a.aspect = l.aspect AND l.kind = 'put' AND a.run <> '';
