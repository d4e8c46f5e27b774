"""`datahub ingest` with the source `postgres`, over a real server that the test starts for itself."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from recipes import STATEFUL, HumanEdits, column, columns, dataset, ingest, time_series

# How long the database may take for one thing: far more than it needs.
PATIENCE_SECONDS = 60

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


def _programs() -> Path:
    """Where the server's programs are: Debian keeps them beside their version, not on the path."""
    on_path = shutil.which("pg_ctl")
    if on_path:
        return Path(on_path).resolve().parent
    for directory in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (directory / "pg_ctl").exists():
            return directory
    raise AssertionError("PostgreSQL is not installed: scripts/set-up-system postgresql installs it")


class Postgres:
    """A PostgreSQL server on a Unix socket in a directory of its own; it refuses to run as root."""

    def __init__(self):
        self._programs = _programs()
        self._user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        # Not below the test's directory, which other users may not enter and whose name is too long for a socket.
        self.directory = Path(tempfile.mkdtemp(prefix="docent-postgres-"))
        if self._user is not None:
            os.chown(self.directory, self._user, -1)
        data = self.directory / "data"
        self._run("initdb", "--pgdata", data, "--username", "tests", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
        self._run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", self.directory / "log", "--options", options)

    def _run(self, program: str, *arguments, input: str = "") -> None:
        finished = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            cwd=self.directory,
            input=input,
            # A file, not a pipe: the server that pg_ctl leaves running would keep a pipe open.
            stdout=open(self.directory / "output", "w"),
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert finished.returncode == 0, f"{program}: {(self.directory / 'output').read_text()}"

    def sql(self, statements: str, database: str = "postgres") -> None:
        arguments = ["--host", self.directory, "--username", "tests", "--dbname", database]
        self._run("psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", *arguments, input=statements)

    def uri(self, database: str) -> str:
        return f"postgresql+psycopg2://tests@/{database}?host={self.directory}"

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--mode", "immediate", "--pgdata", self.directory / "data")
        shutil.rmtree(self.directory)


@pytest.fixture
def postgres():
    running = Postgres()
    yield running
    running.stop()


def test_the_tables_comments_views_and_keys_of_a_postgresql_server_are_stored(server, run_cli, read, unique, postgres):
    postgres.sql("create database shop")
    postgres.sql(SCHEMA, "shop")
    settings = {
        # Asked for, though the address says all.
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

    # Lineage of a view is worked out from its text, also of its columns.
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

    # The next run brings what changed, and leaves alone what people said.
    edits = HumanEdits(server, customers, "email", unique)
    postgres.sql("comment on table sales.customers is 'Everybody'; drop materialized view sales.totals", "shop")
    ingest(run_cli, server, "postgres", settings, pipeline=unique)
    assert read(customers, "datasetProperties")["description"] == "Everybody"
    assert read(urn("totals"), "status") == {"removed": True}
    assert read(orders, "status") == {"removed": False}
    edits.must_be_as_they_were()
