-- The state of the server itself is in the change log, so that every server learns of it, but it is not part of the
-- catalog: this finds it when changes are counted.
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

-- Last, because it keeps others from reading the log until the step is over. `change_log_of_internal` takes its place.
DROP INDEX change_log_of_sessions;
