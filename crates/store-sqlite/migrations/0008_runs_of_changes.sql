-- Each change names the ingestion run that wrote it, NULL for none, so that changes of people are listed without reading
-- millions of others. Older changes get the run of the latest version of their aspect.
ALTER TABLE change_log ADD COLUMN run TEXT;

UPDATE change_log SET run = (
    SELECT nullif(nullif(json_extract(systemmetadata, '$.runId'), 'no-run-id-provided'), '')
    FROM metadata_aspect_v2 AS latest
    WHERE latest.urn = change_log.urn AND latest.aspect = change_log.aspect AND version = 0
        AND json_valid(systemmetadata)
) WHERE kind = 'put';

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

CREATE INDEX change_log_of_edits ON change_log (position)
WHERE run IS NULL AND actor <> 'urn:li:corpuser:__datahub_system'
    AND NOT (urn >= 'urn:li:dataHub' AND urn < 'urn:li:dataHuc' OR urn >= 'urn:li:docent' AND urn < 'urn:li:docenu'
    OR urn >= 'urn:li:globalSettings:' AND urn < 'urn:li:globalSettings;'
    OR urn >= 'urn:li:inviteToken:' AND urn < 'urn:li:inviteToken;'
    OR urn >= 'urn:li:post:' AND urn < 'urn:li:post;'
    OR urn >= 'urn:li:telemetry:' AND urn < 'urn:li:telemetry;'
    OR aspect IN ('corpUserCredentials', 'corpUserSettings', 'corpUserStatus'));
