"""`datahub ingest` with the source `postgres`, from a real server."""

import pytest

from postgres import Postgres
from recipes import STATEFUL, HumanEdits, column, columns, dataset, ingest, time_series

SCHEMA = """
    create schema sales;
    create table sales.customers (id bigint primary key, email text not null, active boolean default true);
    comment on table sales.customers is 'Everybody who ever ordered';
    comment on column sales.customers.email is 'Where the bill goes – never shown';
    create table sales.orders (
        id uuid primary key,
        customer bigint not null constraint order_customer references sales.customers (id),
        total numeric(10, 2),
        placed timestamp with time zone,
        lines jsonb,
        labels text[]
    );
    create view sales.spending as
        select c.email, sum(o.total) as total from sales.orders o join sales.customers c on c.id = o.customer group by c.email;
    create materialized view sales.totals as select total from sales.orders;
    insert into sales.customers (id, email) values (1, 'a@example.com'), (2, 'b@example.com'), (3, 'c@example.com');
"""


@pytest.fixture
def postgres():
    running = Postgres()
    yield running
    running.stop()


def test_the_tables_comments_views_and_keys_of_a_postgresql_server_are_stored(server, run_cli, read, unique, postgres):
    postgres.sql("create database shop")
    postgres.sql(SCHEMA, "shop")
    settings = {
        # Required by the connector, although the address is complete.
        "host_port": "localhost",
        "sqlalchemy_uri": postgres.uri("shop"),
        "database": "shop",
        "platform_instance": unique,
        "profiling": {"enabled": True, "profile_table_level_only": True},
        "stateful_ingestion": STATEFUL,
    }
    ingest(run_cli, server, "postgres", settings, pipeline=unique)

    def urn(table: str) -> str:
        return dataset("postgres", f"{unique}.shop.sales.{table}")

    customers, orders, spending = urn("customers"), urn("orders"), urn("spending")
    assert read(customers, "datasetProperties")["description"] == "Everybody who ever ordered"
    fields = {field["fieldPath"]: field for field in read(customers, "schemaMetadata")["fields"]}
    assert fields["email"]["description"] == "Where the bill goes – never shown"
    assert fields["email"]["nullable"] is False and fields["id"]["isPartOfKey"] is True
    schema = read(orders, "schemaMetadata")
    assert {name: kind for name, (kind, _) in columns(schema).items()} == {
        "id": "StringType",
        "customer": "NumberType",
        "total": "NumberType",
        "placed": "TimeType",
        "lines": "RecordType",
        "labels": "ArrayType",
    }
    assert [(key["name"], key["foreignDataset"]) for key in schema["foreignKeys"]] == [("order_customer", customers)]

    # Lineage of a view and its columns is inferred from its SQL.
    lineage = read(spending, "upstreamLineage")
    assert {upstream["dataset"] for upstream in lineage["upstreams"]} == {customers, orders}
    downstream = {tuple(fine["downstreams"]): fine["upstreams"] for fine in lineage["fineGrainedLineages"]}
    assert downstream[(column(spending, "email"),)] == [column(customers, "email")]
    assert downstream[(column(spending, "total"),)] == [column(orders, "total")]
    assert "total" in read(urn("totals"), "viewProperties")["viewLogic"]
    data = server.graphql(
        """query ($urn: String!) {
          searchAcrossLineage(input: {urn: $urn, direction: DOWNSTREAM, query: "*"}) { searchResults { entity { urn } } }
        }""",
        urn=orders,
    )
    reached = {result["entity"]["urn"] for result in data["searchAcrossLineage"]["searchResults"]}
    assert reached == {spending, urn("totals")}

    (profile,) = time_series(server, customers, "datasetProfile")
    assert (profile["rowCount"], profile["columnCount"]) == (3, 3)

    # The next run updates changes and leaves user edits unchanged.
    edits = HumanEdits(server, customers, "email", unique)
    postgres.sql("comment on table sales.customers is 'Everybody'; drop materialized view sales.totals", "shop")
    ingest(run_cli, server, "postgres", settings, pipeline=unique)
    assert read(customers, "datasetProperties")["description"] == "Everybody"
    assert read(urn("totals"), "status") == {"removed": True}
    assert read(orders, "status") == {"removed": False}
    edits.must_be_as_they_were()
