-- The truth: every version of every aspect, row 0 being the latest. The names, the order and the types of the columns
-- are those of the table that existing catalogs have, so that one of them can be adopted and read by their tools; URNs
-- may have the 512 bytes that we accept, not 500. Everything that is compared is compared byte by byte ("C"), so that
-- lists have the same order on every machine.
CREATE TABLE metadata_aspect_v2 (
    urn            varchar(512) COLLATE "C" NOT NULL,
    aspect         varchar(200) COLLATE "C" NOT NULL,
    version        bigint       NOT NULL,
    metadata       text         NOT NULL,
    systemmetadata text,
    createdon      timestamp    NOT NULL, -- UTC
    createdby      varchar(512) NOT NULL,
    createdfor     varchar(512),
    CONSTRAINT pk_metadata_aspect_v2 PRIMARY KEY (urn, aspect, version)
);

-- Derived: who points at whom. A row belongs to the aspect of the source that says so.
CREATE TABLE edge (
    source       varchar(512) COLLATE "C" NOT NULL,
    aspect       varchar(200) COLLATE "C" NOT NULL,
    relationship varchar(200) COLLATE "C" NOT NULL,
    destination  varchar(512) COLLATE "C" NOT NULL,
    PRIMARY KEY (source, aspect, relationship, destination)
);

CREATE INDEX edge_by_destination ON edge (destination, relationship, source, aspect);

-- Derived: where an entity stands in the tree of its kind. A row belongs to the aspect that says so; the parent of an
-- entity at the root is ''. Names have any length, and an entry of an index has not.
CREATE TABLE placement (
    urn        varchar(512) COLLATE "C" NOT NULL,
    aspect     varchar(200) COLLATE "C" NOT NULL,
    kind       varchar(200) COLLATE "C" NOT NULL,
    parent     varchar(512) COLLATE "C" NOT NULL,
    name       text         COLLATE "C" NOT NULL,
    created_ms bigint       NOT NULL,
    PRIMARY KEY (urn, aspect)
);

CREATE INDEX placement_by_parent ON placement (kind, parent, created_ms DESC, urn);
CREATE INDEX placement_by_name ON placement (kind, parent, md5(name));

-- What was committed. A transaction takes a number and writes its changes under it once, together with a row of
-- change_pending. Numbers are not in commit order: a transaction may take its number and commit late. So whoever wants to
-- read the log first gives the pending transactions, which are committed or they could not be seen, the next positions:
-- the order in which commits were noticed is the order of the log, and nothing committed can be skipped.
CREATE SEQUENCE change_transaction;

CREATE TABLE change_log (
    transaction     bigint       NOT NULL,
    item            integer      NOT NULL, -- from 0
    urn             varchar(512) COLLATE "C" NOT NULL,
    aspect          varchar(200) COLLATE "C" NOT NULL,
    kind            text         NOT NULL CHECK (kind IN ('put', 'delete')),
    logical_version bigint       NOT NULL,
    time_ms         bigint       NOT NULL,
    actor           varchar(512) NOT NULL,
    PRIMARY KEY (transaction, item)
);

-- Rows come and go all the time; the table stays small if it is swept often.
CREATE TABLE change_pending (
    transaction bigint  PRIMARY KEY,
    changes     integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The changes of a transaction have the positions first_position, first_position + 1 …
CREATE TABLE change_commit (
    first_position bigint  PRIMARY KEY,
    transaction    bigint  NOT NULL,
    changes        integer NOT NULL
);

-- Points of time series aspects. Ids have any length, and an entry of an index has not.
CREATE TABLE timeseries (
    urn            varchar(512) COLLATE "C" NOT NULL,
    aspect         varchar(200) COLLATE "C" NOT NULL,
    time_ms        bigint NOT NULL,
    id             text   COLLATE "C" NOT NULL,
    metadata       text   NOT NULL,
    systemmetadata text
);

CREATE UNIQUE INDEX timeseries_by_time ON timeseries (urn, aspect, time_ms, md5(id));

-- The ingestion run that system metadata name, and when it observed the value. NULL for no run, and for what is no JSON:
-- rows of other servers may have anything there, and none of it may keep a row from being stored.
CREATE FUNCTION docent_run(systemmetadata text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN nullif(left(systemmetadata::json ->> 'runId', 500), 'no-run-id-provided');
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;

CREATE FUNCTION docent_observed(systemmetadata text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN coalesce((systemmetadata::json ->> 'lastObserved')::bigint, 0);
EXCEPTION WHEN others THEN
    RETURN 0;
END
$$;

-- Whether a status aspect says that its entity is removed.
CREATE FUNCTION docent_removed(metadata text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN coalesce((metadata::json ->> 'removed')::boolean, false);
EXCEPTION WHEN others THEN
    RETURN false;
END
$$;

-- What each ingestion run wrote or confirmed last, in the order in which it observed it.
CREATE INDEX aspect_by_run ON metadata_aspect_v2 (docent_run(systemmetadata) COLLATE "C", docent_observed(systemmetadata), urn, aspect)
WHERE version = 0 AND docent_run(systemmetadata) IS NOT NULL;

CREATE INDEX timeseries_by_run ON timeseries (docent_run(systemmetadata) COLLATE "C", urn, aspect)
WHERE docent_run(systemmetadata) IS NOT NULL;

-- Ends a transaction that built on something that has changed since; the caller starts again.
CREATE FUNCTION docent_expect(holds boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT holds THEN
        RAISE EXCEPTION 'a row has changed since it was read' USING ERRCODE = 'serialization_failure';
    END IF;
END
$$;
