-- The audit log: one row per request that changed something or was denied. The key is the order in which it is read.
-- Outcomes are ALLOWED and DENIED; policies is a JSON list, and entities the number of rows in audit_item.
CREATE TABLE audit_event (
    time_ms    bigint NOT NULL,
    id         bigint NOT NULL,
    actor      text,
    address    text,
    credential text,
    operation  text   NOT NULL,
    outcome    text   NOT NULL,
    policies   text,
    reason     text,
    dropped    bigint NOT NULL,
    entities   bigint NOT NULL,
    PRIMARY KEY (time_ms, id)
);

-- The entities that an event changed, each with a JSON list of [aspect, version before, version after].
CREATE TABLE audit_item (
    time_ms bigint       NOT NULL,
    event   bigint       NOT NULL,
    urn     varchar(512) COLLATE "C" NOT NULL,
    changes text         NOT NULL,
    PRIMARY KEY (time_ms, event, urn)
);

CREATE INDEX audit_item_by_urn ON audit_item (urn, time_ms, event);

-- Rows are added, and deleted after the retention time; they never change.
CREATE FUNCTION docent_audit_is_final() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log cannot be changed';
END
$$;

CREATE TRIGGER audit_event_is_final BEFORE UPDATE ON audit_event
FOR EACH STATEMENT EXECUTE FUNCTION docent_audit_is_final();

CREATE TRIGGER audit_item_is_final BEFORE UPDATE ON audit_item
FOR EACH STATEMENT EXECUTE FUNCTION docent_audit_is_final();

-- Sessions are in the change log, so that every server learns of their end, but they are not changes of the catalog: this
-- finds them when changes are counted.
CREATE INDEX change_log_of_sessions ON change_log (time_ms)
WHERE urn >= 'urn:li:docentSession:' AND urn < 'urn:li:docentSession;';
