-- Each change names the ingestion run that wrote it, NULL for none, so that changes of people are listed without reading
-- millions of others. Older changes get the run of the latest version of their aspect.
ALTER TABLE change_log ADD COLUMN run text;

UPDATE change_log AS l SET run = nullif(docent_run(a.systemmetadata), '')
FROM metadata_aspect_v2 AS a
WHERE a.urn = l.urn AND a.aspect = l.aspect AND a.version = 0 AND l.kind = 'put'
    AND docent_run(a.systemmetadata) IS NOT NULL;

-- The state of the server itself is in the change log, so that every server learns of it, but it is not part of the
-- catalog: this finds it when changes are counted.
DROP INDEX change_log_of_sessions;

CREATE INDEX change_log_of_internal ON change_log (time_ms)
WHERE (urn >= 'urn:li:dataHub' AND urn < 'urn:li:dataHuc' OR urn >= 'urn:li:docent' AND urn < 'urn:li:docenu'
    OR urn >= 'urn:li:globalSettings:' AND urn < 'urn:li:globalSettings;'
    OR urn >= 'urn:li:inviteToken:' AND urn < 'urn:li:inviteToken;'
    OR urn >= 'urn:li:post:' AND urn < 'urn:li:post;'
    OR urn >= 'urn:li:telemetry:' AND urn < 'urn:li:telemetry;'
    OR aspect IN ('corpUserCredentials', 'corpUserSettings', 'corpUserStatus'));

CREATE INDEX change_log_of_edits ON change_log (transaction, item)
WHERE run IS NULL AND actor <> 'urn:li:corpuser:__datahub_system'
    AND NOT (urn >= 'urn:li:dataHub' AND urn < 'urn:li:dataHuc' OR urn >= 'urn:li:docent' AND urn < 'urn:li:docenu'
    OR urn >= 'urn:li:globalSettings:' AND urn < 'urn:li:globalSettings;'
    OR urn >= 'urn:li:inviteToken:' AND urn < 'urn:li:inviteToken;'
    OR urn >= 'urn:li:post:' AND urn < 'urn:li:post;'
    OR urn >= 'urn:li:telemetry:' AND urn < 'urn:li:telemetry;'
    OR aspect IN ('corpUserCredentials', 'corpUserSettings', 'corpUserStatus'));
