"""DataHub's aspect table in the databases that DataHub supports, as a source for `docent adopt`.

Docent may only read it: the user in its URL has no other right.
"""

import datetime
import sqlite3
import urllib.parse
from dataclasses import dataclass

from mariadb import MariaDb
from postgres import Postgres

PASSWORD = "hunter2"
EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Row:
    """A row of the table; `createdon` is in microseconds since the epoch."""

    urn: str
    aspect: str
    version: int
    metadata: str
    systemmetadata: str | None = None
    createdon: int = 1_700_000_000_123_456
    createdby: str = "urn:li:corpuser:ada"
    createdfor: str | None = None

    def values(self) -> str:
        time = (EPOCH + datetime.timedelta(microseconds=self.createdon)).isoformat(sep=" ")
        texts = [self.metadata, self.systemmetadata, time, self.createdby, self.createdfor]
        return f"({_text(self.urn)},{_text(self.aspect)},{self.version},{','.join(map(_text, texts))})"


def _text(value: str | None) -> str:
    return "null" if value is None else "'" + value.replace("'", "''") + "'"


def rows_of(file) -> list[Row]:
    """Returns all rows of a store in an SQLite file."""
    with sqlite3.connect(file) as connection:
        found = connection.execute(
            "select urn, aspect, version, metadata, systemmetadata, createdon * 1000, createdby, createdfor"
            " from metadata_aspect_v2 order by urn, aspect, version"
        )
        rows = [Row(*row) for row in found]
    connection.close()
    return rows


class DataHubTable:
    """An empty table; `fill` and `sql` write to it, `url` is for readers."""

    def fill(self, rows: list[Row]) -> None:
        for start in range(0, len(rows), 500):
            values = ",".join(row.values() for row in rows[start : start + 500])
            self.sql(f"insert into metadata_aspect_v2 values {values};")


class OnPostgres(DataHubTable):
    def __init__(self):
        self._server = Postgres()
        # In a schema other than the default, and in a database with a collation that is not bytewise, where possible.
        self._server.sql(
            f"create database datahub; create role reader login password '{PASSWORD}';"
        )
        self.sql(
            "create schema gms; set search_path = gms; create table metadata_aspect_v2 ("
            " urn varchar(500) not null, aspect varchar(200) not null, version bigint not null, metadata text not null,"
            " systemmetadata text, createdon timestamp not null, createdby varchar(255) not null, createdfor varchar(255),"
            " constraint pk_metadata_aspect_v2 primary key (urn, aspect, version));"
            " create index timeindex on metadata_aspect_v2 (createdon);"
            " grant usage on schema gms to reader; grant select on metadata_aspect_v2 to reader;"
            " alter role tests set search_path = gms;"
        )
        host = urllib.parse.quote(str(self._server.directory), safe="")
        self.bare_url = f"postgres://reader:{PASSWORD}@/datahub?host={host}"
        self.url = f"{self.bare_url}&search_path=gms"
        self.missing = f"postgres://reader:{PASSWORD}@/nowhere?host={host}"
        # An alias of the same scheme.
        self.elsewhere = f"{self.url}&port=5432&user=tests"

    def without_time(self, urn: str) -> None:
        self.sql(f"update metadata_aspect_v2 set createdon = 'infinity' where urn = '{urn}'")

    def sql(self, statements: str) -> None:
        self._server.sql(statements, "datahub")

    def cut(self) -> None:
        self.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'reader'")

    def bulk(self, rows: int, letters: int = 0) -> None:
        self.sql(
            "insert into metadata_aspect_v2 select 'urn:li:tag:bulk' || number, 'tagProperties', 0,"
            f" '{{\"name\":\"bulk\",\"description\":\"' || repeat('x', {letters}) || '\"}}', null,"
            " '2024-01-02 03:04:05', 'urn:li:corpuser:ada', null"
            f" from generate_series(1, {rows}) number"
        )

    def stop(self) -> None:
        self._server.stop()


class OnMariaDb(DataHubTable):
    def __init__(self):
        self._server = MariaDb()
        self._server.sql(
            "create database datahub character set utf8mb4 collate utf8mb4_bin;"
            f" create user reader identified by '{PASSWORD}'; grant select on datahub.* to reader;"
        )
        self.sql(
            "create table metadata_aspect_v2 ("
            " urn varchar(500) not null, aspect varchar(200) not null, version bigint(20) not null,"
            " metadata longtext not null, systemmetadata longtext, createdon datetime(6) not null,"
            " createdby varchar(255) not null, createdfor varchar(255),"
            " constraint pk_metadata_aspect_v2 primary key (urn, aspect, version), index timeIndex (createdon));"
        )
        self.url = self._url("reader", PASSWORD, "datahub")
        self.missing = self._url("reader", PASSWORD, "nowhere")
        self.wrong_password = self._url("reader", "hunter3", "datahub")
        # An alias of the same scheme.
        self.elsewhere = self.url.replace("127.0.0.1", "localhost")

    def without_time(self, urn: str) -> None:
        self.sql(f"set sql_mode = ''; update metadata_aspect_v2 set createdon = '0000-00-00' where urn = '{urn}'")

    def _url(self, user: str, password: str, database: str) -> str:
        return f"mysql://{user}:{password}@127.0.0.1:{self._server.port}/{database}"

    def sql(self, statements: str) -> None:
        self._server.sql(statements, "datahub")

    def cut(self) -> None:
        self.sql("kill user reader")

    def bulk(self, rows: int, letters: int = 0) -> None:
        self.sql(
            "insert into metadata_aspect_v2 select concat('urn:li:tag:bulk', seq), 'tagProperties', 0,"
            f" concat('{{\"name\":\"bulk\",\"description\":\"', repeat('x', {letters}), '\"}}'), null,"
            " '2024-01-02 03:04:05', 'urn:li:corpuser:ada', null"
            f" from seq_1_to_{rows}"
        )

    def stop(self) -> None:
        self._server.stop()
