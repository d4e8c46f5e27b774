"""`docent adopt`: import of a DataHub database, written by DataHub's client, with its history."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from dataclasses import replace

import psycopg2
import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.metadata.schema_classes import ASPECT_NAME_MAP, DatasetPropertiesClass

from datahub_table import PASSWORD, OnMariaDb, OnPostgres, Row, rows_of
from examples import schema
from postgres import Postgres
from running import Server, docent, empty_store
from test_round_trip import NOWHERE, REFUSED, made_up

MANY = "urn:li:dataset:(urn:li:dataPlatform:hive,many.versions,PROD)"
GAPS = "urn:li:dataset:(urn:li:dataPlatform:hive,gaps,PROD)"
MARK = "urn:li:dataHubUpgrade:docent-adopt"
BULK = 10_000


@pytest.fixture(scope="module", params=[OnPostgres, OnMariaDb], ids=["postgres", "mariadb"])
def database(request):
    """A database server of each kind, shared by the tests of this file."""
    running = request.param()
    yield running
    running.stop()


@pytest.fixture
def table(database):
    """DataHub's table, empty."""
    yield database
    database.sql("delete from metadata_aspect_v2")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Rows written by DataHub's client: every kind of aspect, some in several versions."""
    directory = tmp_path_factory.mktemp("written")
    server = Server(directory)
    with DataHubGraph(DatahubClientConfig(server=server.url, token=server.token)) as graph:
        for name in sorted(set(ASPECT_NAME_MAP) - set(REFUSED) - NOWHERE):
            graph.emit_mcps(list(made_up(name, "adopt")))
        for number in range(25):
            value = DatasetPropertiesClass(description=f"the text of {number}", customProperties={"n": str(number)})
            graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=MANY, aspect=value))
        for columns in (["user_id"], ["user_id", "name"]):
            value = schema("many.versions", *columns)
            graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=MANY, aspect=value))
    assert server.graphql("mutation { createDomain(input: {id: \"law\", name: \"Law\"}) }")
    assert server.graphql(
        "mutation($urn: String!) { setDomain(entityUrn: $urn, domainUrn: \"urn:li:domain:law\") }", urn=MANY
    )
    server.stop()
    rows = dump(directory, server.store)
    # In microseconds, as DataHub stores them.
    return [replace(row, createdon=row.createdon + 456) for row in rows]


def dump(directory, store: str) -> list[Row]:
    """Returns all rows of a store that is not in use."""
    file = directory / "dump.db"
    file.unlink(missing_ok=True)
    docent(directory, "move", "--from", store, "--to", "sqlite:dump.db")
    return rows_of(file)


def is_ours(row: Row) -> bool:
    """Whether docent rejects the row (passwords, tokens) or wrote it as its own marker."""
    return row.aspect == "corpUserCredentials" or row.urn.startswith(("urn:li:dataHubAccessToken:", MARK))


def kept(rows: list[Row]) -> list[Row]:
    """Returns the rows that must be in the store: all but internal ones, in milliseconds."""
    return [replace(row, createdon=row.createdon // 1000 * 1000) for row in rows if not is_ours(row)]


def adopt(directory, table, store: str, *arguments: str, fails=False) -> str:
    return docent(directory, "adopt", "--from", table.url, "--store", store, *arguments, fails=fails)


def test_the_clients_writes_are_imported_with_their_history(table, written, tmp_path):
    assert len({row.aspect for row in written}) > 200 and len(written) > 1000
    table.fill(written)
    store = empty_store()
    said = adopt(tmp_path, table, store, "--report", "refused.jsonl")
    refused = [row for row in written if is_ours(row)]
    taken = [row for row in written if not is_ours(row)]
    keys = {row.urn for row in taken}
    history = sum(row.version > 0 for row in taken)
    assert f"{len(keys)} entities, {len(taken) - history} aspects and {history} earlier versions" in said, said
    assert f"rejected: {len(refused)} rows" in said and "passwords and tokens" in said, said
    assert "time series" in said, said
    lines = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    assert {(line["urn"], line["aspect"], line["version"]) for line in lines} == {
        (row.urn, row.aspect, row.version) for row in refused
    }
    assert (tmp_path / "refused.jsonl").stat().st_mode & 0o777 == 0o600
    assert kept(dump(tmp_path, store)) == kept(written)
    assert "healthy" in docent(tmp_path, "check", "--store", store)
    assert "was correct" in docent(tmp_path, "rebuild", "--store", store)


def test_an_adopted_catalog_is_served(table, written, tmp_path):
    table.fill(written)
    store = empty_store()
    adopt(tmp_path, table, store)
    server = Server(tmp_path, store=store)
    found = server.graphql(
        "query($urn: String!) { dataset(urn: $urn) { properties { description } domain { domain { properties { name } } }"
        " schemaMetadata { fields { fieldPath } } } domain(urn: \"urn:li:domain:law\") { entities(input: {}) { total } }"
        " searchAcrossEntities(input: {query: \"many.versions\"}) { searchResults { entity { urn } } } }",
        urn=MANY,
    )
    assert found["dataset"]["properties"]["description"] == "the text of 24"
    assert found["dataset"]["domain"]["domain"]["properties"]["name"] == "Law"
    assert [it["fieldPath"] for it in found["dataset"]["schemaMetadata"]["fields"]] == ["user_id", "name"]
    assert found["domain"]["entities"]["total"] == 1
    assert MANY in [it["entity"]["urn"] for it in found["searchAcrossEntities"]["searchResults"]]
    # Versions continue after the imported history.
    with DataHubGraph(DatahubClientConfig(server=server.url, token=server.token)) as graph:
        value = DatasetPropertiesClass(description="after the move")
        graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=MANY, aspect=value))
        assert graph.get_aspect(MANY, DatasetPropertiesClass).description == "after the move"
        assert graph.get_aspect(MANY, DatasetPropertiesClass, version=25).description == "the text of 24"
    server.stop()
    assert "healthy" in docent(tmp_path, "check", "--store", store)
    # Aspects changed here since are left unchanged.
    said = adopt(tmp_path, table, store)
    assert f"version 0 of datasetProperties of {MANY}" in said and "a different value" in said, said
    latest = next(row for row in dump(tmp_path, store) if (row.urn, row.aspect) == (MANY, "datasetProperties"))
    assert json.loads(latest.metadata)["description"] == "after the move"


def quirks() -> list[Row]:
    tag = json.dumps({"name": "a tag"})
    properties = json.dumps({"description": "d", "customProperties": {}, "tags": []})
    numbered = json.dumps({"lastObserved": 5, "runId": "a", "version": "31", "wish": 1})
    long_ago = [Row(MANY, "datasetProperties", number, properties) for number in range(1, 31)]
    return [
        # Whitespace that databases and clients leave.
        Row("urn:li:tag:padded  ", "tagProperties", 0, tag, createdby="urn:li:corpuser:ada  "),
        Row("urn:li:tag:padded  ", "tagKey", 0, json.dumps({"name": "padded"})),
        # Gaps between versions, and a latest version without a number.
        Row(GAPS, "datasetProperties", 0, properties, json.dumps({"lastObserved": 5, "wish": [1]})),
        Row(GAPS, "datasetProperties", 3, properties),
        Row(GAPS, "datasetProperties", 7, properties, "rubbish"),
        # Without system metadata, and with members of another DataHub version.
        Row(GAPS, "globalTags", 0, json.dumps({"tags": [{"tag": "urn:li:tag:padded", "of2030": {"a": 1}}], "more": 2})),
        Row(GAPS, "status", 0, json.dumps({"removed": True}), ""),
        # More versions than the retention limit.
        Row(MANY, "datasetProperties", 0, properties, numbered),
        *long_ago,
    ]


REFUSALS = [
    (Row("urn:li:dataset:(urn:li:dataPlatform:hive,x)", "status", 0, "{}"), "the URN is invalid"),
    (Row("urn:li:spaceship:x", "status", 0, "{}"), "the URN is invalid"),
    (Row("no urn", "status", 0, "{}"), "the URN is invalid"),
    (Row("urn:li:tag:refused", "wishes", 0, "{}"), "no such aspect"),
    (Row("urn:li:tag:refused", "schemaMetadata", 0, "{}"), "no such aspect"),
    (Row("urn:li:tag:refused", "status", 0, "{'removed': 1}"), "not JSON"),
    (Row("urn:li:tag:refused", "status", 1, '{"removed": true}'), "whose latest version is rejected"),
    (Row("urn:li:tag:refused", "tagProperties", 0, '{"name": 7}'), "not valid for the aspect"),
    (Row("urn:li:tag:refused", "ownership", 2, '{"owners": []}'), "without a latest version"),
    (Row(GAPS, "datasetProfile", 0, '{"timestampMillis": 1}'), "time series"),
    (Row("urn:li:corpuser:eve", "corpUserCredentials", 0, '{"salt":"s","hashedPassword":"$argon2id$"}'), "passwords"),
    (Row("urn:li:dataHubAccessToken:abc", "dataHubAccessTokenKey", 0, '{"id":"abc"}'), "passwords"),
]


def test_quirks_of_old_tables_are_handled(table, tmp_path):
    table.fill(quirks() + [row for row, _ in REFUSALS])
    store = empty_store()
    said = adopt(tmp_path, table, store, "--report", "refused.jsonl")
    assert "3 entities, 6 aspects and 21 earlier versions" in said, said
    assert "2 entities had no key aspect" in said, said
    assert "1 entities had white space around their URN" in said, said
    assert "1 aspects had no valid version number" in said, said
    assert "1 rows had unreadable system metadata" in said, said
    assert "healthy" in docent(tmp_path, "check", "--store", store)
    lines = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    reasons = {(line["urn"].strip(), line["aspect"], line["version"]): line for line in lines}
    for row, reason in REFUSALS:
        line = reasons.pop((row.urn, row.aspect, row.version))
        assert reason in line["reason"] and reason in said, line
        assert (line["metadata"], line["createdby"], line["createdon"]) == (row.metadata, row.createdby, 1_700_000_000_123)
    # The eleven oldest of thirty-one.
    assert sorted(reasons) == [(MANY, "datasetProperties", number) for number in range(1, 12)]
    assert all("older" in line["reason"] for line in reasons.values())
    rows = {(row.urn, row.aspect, row.version): row for row in dump(tmp_path, store)}
    assert not [urn for urn, _, _ in rows if urn in ("urn:li:tag:refused", "urn:li:corpuser:eve")]
    padded = rows["urn:li:tag:padded", "tagProperties", 0]
    assert (padded.createdby, padded.createdon) == ("urn:li:corpuser:ada", 1_700_000_000_123_000)
    noted = json.loads(rows[GAPS, "datasetProperties", 0].systemmetadata)
    assert noted == {"lastObserved": 5, "wish": [1], "version": "8"}
    assert rows[GAPS, "datasetProperties", 7].systemmetadata is None
    assert rows[GAPS, "globalTags", 0].metadata == quirks()[5].metadata
    assert json.loads(rows[GAPS, "datasetKey", 0].metadata)["name"] == "gaps"
    versions = sorted(version for urn, aspect, version in rows if (urn, aspect) == (MANY, "datasetProperties"))
    assert versions == [0, *range(12, 31)]
    assert json.loads(rows[MANY, "datasetProperties", 0].systemmetadata)["wish"] == 1


def test_a_second_run_skips_stored_rows_and_imports_new_ones(table, tmp_path):
    table.fill(quirks())
    store = empty_store()
    adopt(tmp_path, table, store)
    before = [row for row in dump(tmp_path, store) if row.urn != MARK]
    said = adopt(tmp_path, table, store)
    assert "0 entities, 0 aspects and 0 earlier versions" in said, said
    # Together with the eleven versions over the limit, these are all rows.
    assert "read 38 rows" in said and "6 aspects and 21 earlier versions already existed" in said, said
    assert "rejected: 11 rows" in said, said
    assert [row for row in dump(tmp_path, store) if row.urn != MARK] == before
    table.fill([Row("urn:li:tag:later", "tagProperties", 0, '{"name":"later"}')])
    table.sql("update metadata_aspect_v2 set metadata = '{\"removed\":false}' where aspect = 'status'")
    said = adopt(tmp_path, table, store)
    assert "1 entities, 1 aspects and 0 earlier versions" in said, said
    assert "1 rows: the store has a different value" in said and f"version 0 of status of {GAPS}" in said, said
    assert "healthy" in docent(tmp_path, "check", "--store", store)


def aspects_in(file) -> int:
    """Returns the number of aspects in a store during a write; 0 if it does not exist yet."""
    try:
        connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute("select count(*) from metadata_aspect_v2").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0


def test_a_stopped_or_killed_run_can_be_resumed(table, tmp_path):
    table.bulk(BULK)
    store = "sqlite:stopped.db"
    held = 0
    for number, how in enumerate([signal.SIGINT, signal.SIGKILL]):
        with open(tmp_path / f"errors{number}", "w+") as errors:
            running = subprocess.Popen(
                [os.environ["DOCENT_TEST_BINARY"], "adopt", "--from", table.url, "--store", store],
                cwd=tmp_path,
                stderr=errors,
            )
            deadline = time.monotonic() + 60
            while aspects_in(tmp_path / "stopped.db") <= held + 1000:
                assert running.poll() is None and time.monotonic() < deadline, "it ended before it could be stopped"
            running.send_signal(how)
            assert running.wait(60) != 0
            errors.seek(0)
            complaint = errors.read()
        if how == signal.SIGINT:
            assert "run the same command again" in complaint and "stopped" in complaint, complaint
            assert running.returncode == 130
        for command in (["check"], ["rebuild"], ["backup", "half.backup"], ["serve", "--listen", "127.0.0.1:0"]):
            said = docent(tmp_path, *command, "--store", store, fails=True)
            assert "'docent adopt' from " in said and "run it again to continue" in said, said
        said = docent(tmp_path, "adopt", "--from", table.elsewhere, "--store", store, fails=True)
        assert "not from" in said and "new store" in said, said
        held = aspects_in(tmp_path / "stopped.db")
        assert held < 2 * BULK, "it had done everything before it was stopped"
    said = adopt(tmp_path, table, store)
    assert "already existed" in said and "no rows were rejected" in said, said
    assert "healthy" in docent(tmp_path, "check", "--store", store)
    tags = [row for row in dump(tmp_path, store) if row.urn != MARK]
    assert len(tags) == 2 * BULK


def test_a_lost_source_is_reported(table, tmp_path):
    # More rows than are in transit when the first are stored.
    table.bulk(2000, 30_000)
    running = subprocess.Popen(
        [os.environ["DOCENT_TEST_BINARY"], "adopt", "--from", table.url, "--store", "sqlite:lost.db"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while aspects_in(tmp_path / "lost.db") < 100:
        assert running.poll() is None and time.monotonic() < deadline, "it ended before the line was cut"
    table.cut()
    _, complaint = running.communicate(timeout=60)
    assert running.returncode != 0 and "lost" in complaint and "connection to" in complaint, complaint
    assert "run the same command again to continue" in complaint, complaint


def test_ctrl_c_ends_a_run_that_waits_for_the_database(table, tmp_path):
    table.fill([Row("urn:li:tag:x", "tagProperties", 0, '{"name":"x"}')])
    server = Postgres()
    server.sql("create database docent")
    store = server.store("docent")
    adopt(tmp_path, table, store)
    holding = psycopg2.connect(host=str(server.directory), user="tests", dbname="docent")
    holding.cursor().execute("select 1 from metadata_aspect_v2 where urn = 'urn:li:tag:x' for update")
    # Nothing to copy: it waits for the locked row when it computes derived data.
    running = subprocess.Popen(
        [os.environ["DOCENT_TEST_BINARY"], "adopt", "--from", table.url, "--store", store],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    watching = psycopg2.connect(host=str(server.directory), user="tests", dbname="postgres")
    # Reads are consistent within a transaction.
    watching.autocommit = True
    looking = watching.cursor()
    waits = "select count(*) from pg_stat_activity where datname = 'docent' and wait_event_type = 'Lock'"
    deadline = time.monotonic() + 60
    while looking.execute(waits) or looking.fetchone()[0] == 0:
        assert running.poll() is None and time.monotonic() < deadline, "it does not wait"
    running.send_signal(signal.SIGINT)
    _, complaint = running.communicate(timeout=60)
    assert running.returncode == 130 and "run the same command again" in complaint, complaint
    watching.close()
    holding.close()
    assert "no rows were rejected" in adopt(tmp_path, table, store)
    server.stop()


def test_unreadable_rows_are_rejected_and_the_others_imported(table, tmp_path):
    rows = [Row(f"urn:li:tag:{name}", "tagProperties", 0, '{"name":"a"}') for name in "abc"]
    table.fill(rows)
    table.without_time("urn:li:tag:b")
    store = empty_store()
    said = adopt(tmp_path, table, store)
    assert "2 entities, 2 aspects and 0 earlier versions" in said, said
    assert "1 rows: the row cannot be read" in said and "urn:li:tag:b: the time" in said, said
    assert "healthy" in docent(tmp_path, "check", "--store", store)


def test_rows_that_differ_only_in_whitespace_are_one_aspect(table, tmp_path):
    def row(urn: str, version: int, name: str) -> Row:
        return Row(urn, "tagProperties", version, json.dumps({"name": name}))

    # Databases that pad treat names with trailing whitespace as the same aspect.
    rows = [row("urn:li:tag:x", 0, "latest"), row("urn:li:tag:x ", 1, "former")]
    tells_apart = isinstance(table, OnPostgres)
    if tells_apart:
        rows += [row("urn:li:tag:y", 0, "first"), row("urn:li:tag:y  ", 0, "second"), row("urn:li:tag:y  ", 1, "third")]
        rows += [Row(urn, "status", 0, '{"removed":false}') for urn in ("urn:li:tag:y", "urn:li:tag:y  ")]
        rows += [row("  urn:li:tag:z", 0, "first"), row("urn:li:tag:z", 0, "second")]
    table.fill(rows)
    store = empty_store()
    for _ in range(2):
        said = adopt(tmp_path, table, store)
        assert "without a latest version" not in said and "a different value" not in said, said
        assert ("another row has the same URN" in said) == tells_apart, said
        if tells_apart:
            assert "4 rows: another row" in said and "version 0 of tagProperties of urn:li:tag:y  : " in said, said
    kept = {(row.urn, row.aspect, row.version): row.metadata for row in dump(tmp_path, store)}
    assert json.loads(kept["urn:li:tag:x", "tagProperties", 0])["name"] == "latest"
    assert json.loads(kept["urn:li:tag:x", "tagProperties", 1])["name"] == "former"
    if tells_apart:
        assert json.loads(kept["urn:li:tag:y", "tagProperties", 0])["name"] == "first"
        assert ("urn:li:tag:y", "tagProperties", 1) not in kept
    assert "healthy" in docent(tmp_path, "check", "--store", store)


def test_unreachable_domains_are_listed(table, tmp_path):
    def domain(name: str, parent: str | None) -> Row:
        value = {"name": name} | ({"parentDomain": f"urn:li:domain:{parent}"} if parent else {})
        return Row(f"urn:li:domain:{name}", "domainProperties", 0, json.dumps(value))

    tree = {"root": None, "child": "root", "orphan": "gone", "below": "orphan", "one": "two", "two": "one", "under": "two"}
    table.fill([domain(name, parent) for name, parent in tree.items()])
    said = adopt(tmp_path, table, empty_store())
    assert "3 domains cannot be reached from a root domain" in said, said
    assert "urn:li:domain:orphan has a missing parent, urn:li:domain:gone" in said, said
    for name in ("one", "two"):
        assert f"urn:li:domain:{name} is its own ancestor" in said, said


@pytest.mark.any_engine
def test_an_unresponsive_database_times_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("mysql", "postgres"):
            begun = time.monotonic()
            url = f"{scheme}://ada:hunter2@127.0.0.1:{silent.getsockname()[1]}/datahub"
            said = docent(tmp_path, "adopt", "--from", url, "--store", "sqlite:new.db", fails=True)
            assert "does not respond" in said and "hunter2" not in said, said
            assert time.monotonic() - begun < 30


def test_errors_are_clear_and_do_not_contain_the_password(table, tmp_path):
    store = "sqlite:new.db"

    def refusal(url: str, to: str = store) -> str:
        said = docent(tmp_path, "adopt", "--from", url, "--store", to, fails=True)
        assert PASSWORD not in said and "panicked" not in said, said
        assert said.strip().splitlines()[-1].startswith("docent: "), said
        return said

    assert "nowhere" in refusal(table.missing)
    assert "--from is invalid" in refusal("http://ada:hunter2@db/datahub")
    if hasattr(table, "wrong_password"):
        assert "Access denied" in refusal(table.wrong_password)
    else:
        said = refusal(table.bare_url)
        assert "no table metadata_aspect_v2" in said and "search_path" in said, said
        table.sql("revoke select on gms.metadata_aspect_v2 from reader")
        assert "GRANT SELECT ON metadata_aspect_v2" in refusal(table.url)
        table.sql("grant select on gms.metadata_aspect_v2 to reader")
    assert not (tmp_path / "new.db").exists(), "a store was made although there is nothing to take"
    server = Server(tmp_path)
    server.stop()
    assert "not empty: use a new store" in refusal(table.url, server.store)
    # An existing store stays unchanged.
    (tmp_path / "precious").write_text("do not lose me")
    said = docent(tmp_path, "adopt", "--from", table.url, "--store", store, "--report", "precious", fails=True)
    assert "precious" in said and (tmp_path / "precious").read_text() == "do not lose me"
