-- The tables of the peers on PostgreSQL: a catalog as a person would design it, with foreign keys and an index for
-- every path that the queries take.

CREATE TABLE domain (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    urn text NOT NULL UNIQUE,
    name text NOT NULL,
    description text
);

CREATE TABLE person (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    urn text NOT NULL UNIQUE,
    name text NOT NULL
);

CREATE TABLE tag (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    urn text NOT NULL UNIQUE,
    name text NOT NULL
);

CREATE TABLE dataset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    urn text NOT NULL UNIQUE,
    name text NOT NULL,
    platform text NOT NULL,
    description text,
    domain_id bigint REFERENCES domain
);
CREATE INDEX ON dataset (domain_id);

CREATE TABLE dataset_column (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    position integer NOT NULL,
    name text NOT NULL,
    type text NOT NULL,
    nullable boolean NOT NULL,
    description text,
    PRIMARY KEY (dataset_id, position)
);

CREATE TABLE dataset_owner (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    person_id bigint NOT NULL REFERENCES person,
    PRIMARY KEY (dataset_id, person_id)
);
CREATE INDEX ON dataset_owner (person_id);

CREATE TABLE dataset_tag (
    dataset_id bigint NOT NULL REFERENCES dataset ON DELETE CASCADE,
    tag_id bigint NOT NULL REFERENCES tag,
    PRIMARY KEY (dataset_id, tag_id)
);
CREATE INDEX ON dataset_tag (tag_id);

-- PostGraphile makes a field of it. Without it, a query can name only one dataset.
CREATE FUNCTION datasets_with_urns(urns text[]) RETURNS SETOF dataset LANGUAGE sql STABLE AS $$
    SELECT dataset.* FROM dataset JOIN unnest(urns) WITH ORDINALITY AS requested (urn, place) USING (urn)
    ORDER BY requested.place
$$;
