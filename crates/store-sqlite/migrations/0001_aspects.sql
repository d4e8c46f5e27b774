-- The truth: every version of every aspect, row 0 being the latest. The names and the layout are those of the
-- table that existing catalogs have, so that one of them can be adopted.
-- An ordinary table with a unique index: the rows are large, and a table without rowids would carry whole rows
-- in the inner nodes of its tree.
CREATE TABLE metadata_aspect_v2 (
    urn            TEXT    NOT NULL,
    aspect         TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    metadata       TEXT    NOT NULL,
    systemmetadata TEXT,
    createdon      INTEGER NOT NULL, -- milliseconds since the epoch
    createdby      TEXT    NOT NULL,
    createdfor     TEXT,
    PRIMARY KEY (urn, aspect, version)
);

-- Derived: who points at whom. A row belongs to the aspect of the source that says so.
CREATE TABLE edge (
    source       TEXT NOT NULL,
    aspect       TEXT NOT NULL,
    relationship TEXT NOT NULL,
    destination  TEXT NOT NULL,
    PRIMARY KEY (source, aspect, relationship, destination)
) WITHOUT ROWID;

CREATE INDEX edge_by_destination ON edge (destination, relationship, source, aspect);

-- Derived: where an entity stands in the tree of its kind. A row belongs to the aspect that says so; the
-- parent of an entity at the root is ''.
CREATE TABLE placement (
    urn        TEXT    NOT NULL,
    aspect     TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    parent     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (urn, aspect)
) WITHOUT ROWID;

CREATE INDEX placement_by_parent ON placement (kind, parent, created_ms DESC, urn);
CREATE INDEX placement_by_name ON placement (kind, parent, name);

-- What was committed, in commit order: there is one writer, and positions are never used twice.
CREATE TABLE change_log (
    position        INTEGER PRIMARY KEY AUTOINCREMENT,
    urn             TEXT    NOT NULL,
    aspect          TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('put', 'delete')),
    logical_version INTEGER NOT NULL,
    time_ms         INTEGER NOT NULL,
    actor           TEXT    NOT NULL
);

-- Points of time series aspects.
CREATE TABLE timeseries (
    urn            TEXT    NOT NULL,
    aspect         TEXT    NOT NULL,
    time_ms        INTEGER NOT NULL,
    id             TEXT    NOT NULL,
    metadata       TEXT    NOT NULL,
    systemmetadata TEXT,
    PRIMARY KEY (urn, aspect, time_ms, id)
);
