"""The client's command line: single entities. Each command's effect is read back without the client."""

import json
import os

import pytest
import yaml
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DatasetProfileClass,
    DatasetPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    TagAssociationClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from running import ADMINISTRATOR, PASSWORD, Server

pytestmark = pytest.mark.any_engine


def _emit(graph, urn, *aspects):
    graph.emit_mcps([MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for aspect in aspects])


@pytest.fixture
def dataset(restli_graph, unique):
    urn = make_dataset_urn("hive", unique)
    _emit(restli_graph, urn, DatasetPropertiesClass(name="Sales", description="What was sold"), StatusClass(False))
    return urn


def test_put_stores_an_aspect(run_cli, read, tmp_path, unique):
    urn = make_dataset_urn("hive", unique)
    data = tmp_path / "aspect.json"
    data.write_text(json.dumps({"description": "Grüße 🦉\n", "customProperties": {"a": "b"}, "tags": []}))
    run_cli("put", "--urn", urn, "--aspect", "datasetProperties", "-d", data)
    assert read(urn, "datasetProperties")["description"] == "Grüße 🦉\n"
    data.write_text(json.dumps({"removed": True}))
    run_cli("put", "--urn", urn, "--aspect", "status", "-d", data, "--run-id", f"run-{unique}")
    assert read(urn, "status") == {"removed": True}
    assert f"run-{unique}" in run_cli("ingest", "list-runs", "--include-soft-deletes")


def test_put_reports_why_an_invalid_aspect_is_rejected(run_cli, read, tmp_path, unique):
    urn = make_dataset_urn("hive", unique)
    data = tmp_path / "aspect.json"
    data.write_text(json.dumps({"removed": "perhaps"}))
    assert "removed" in run_cli("put", "--urn", urn, "--aspect", "status", "-d", data, fails=True)
    assert read(urn, "datasetKey") is None


def test_put_platform_stores_a_platform(run_cli, read, unique):
    run_cli("put", "platform", "--name", unique, "--display_name", "Our Store", "--logo", "https://example.com/logo.png")
    stored = read(f"urn:li:dataPlatform:{unique}", "dataPlatformInfo")
    assert (stored["displayName"], stored["logoUrl"]) == ("Our Store", "https://example.com/logo.png")


def test_get_shows_the_stored_aspects(run_cli, restli_graph, dataset):
    everything = json.loads(run_cli("get", "--urn", dataset))
    assert everything["datasetProperties"]["description"] == "What was sold"
    assert everything["datasetKey"]["origin"] == "PROD"
    one = json.loads(run_cli("get", "--urn", dataset, "-a", "status"))
    assert one == {"status": {"removed": False}}
    detailed = json.loads(run_cli("get", "--urn", dataset, "-a", "datasetProperties", "--details"))
    assert detailed["datasetProperties"]["value"]["name"] == "Sales"
    assert detailed["datasetProperties"]["systemMetadata"]["runId"] == "no-run-id-provided"
    _emit(restli_graph, dataset, DatasetProfileClass(timestampMillis=1794701076063, rowCount=7))
    profile = json.loads(run_cli("get", "--urn", dataset, "-a", "datasetProfile"))
    assert profile["datasetProfile"]["rowCount"] == 7


def test_get_of_a_missing_entity_fails(run_cli, unique):
    missing = make_dataset_urn("hive", unique)
    assert "not found" in run_cli("get", "--urn", missing, fails=True)
    assert "not found" in run_cli("get", "--urn", missing, "-a", "status", fails=True)


def test_exists_reports_whether_an_entity_exists(run_cli, dataset):
    assert json.loads(run_cli("exists", "--urn", dataset)) is True
    assert json.loads(run_cli("exists", "--urn", dataset.replace("hive", "spark"))) is False


def test_delete_soft_deletes_and_hard_deletes_an_entity(run_cli, read, dataset):
    run_cli("delete", "--urn", dataset, "--soft", "--force")
    assert read(dataset, "status") == {"removed": True}
    run_cli("delete", "--urn", dataset, "--hard", "--force")
    assert read(dataset, "datasetProperties") is None
    assert read(dataset, "datasetKey") is None


def test_delete_removes_part_of_a_time_series(run_cli, restli_graph, read, server, dataset):
    day = 24 * 3600 * 1000
    for number in (1, 2, 3):
        _emit(restli_graph, dataset, DatasetProfileClass(timestampMillis=number * day, rowCount=number))
    arguments = ["--hard", "--force", "--aspect", "datasetProfile", "--start-time", "1970-01-01", "--end-time", "1970-01-03"]
    run_cli("delete", "--urn", dataset, *arguments)
    question = {"urn": dataset, "entity": "dataset", "aspect": "datasetProfile", "limit": 10}
    reply = server.request("POST", "/aspects?action=getTimeseriesAspectValues", question).json()
    assert [json.loads(one["aspect"]["value"])["rowCount"] for one in reply["value"]["values"]] == [3]
    assert read(dataset, "datasetProperties")["name"] == "Sales"


def test_delete_by_filter_deletes_the_matching_entities(run_cli, restli_graph, read, unique):
    platform = unique[:40]
    ours = [make_dataset_urn(platform, f"table{number}", env) for number, env in enumerate(["PROD", "PROD", "DEV"])]
    for urn in ours:
        _emit(restli_graph, urn, DatasetPropertiesClass(name="t"))

    def removed():
        return [(read(urn, "status") or {"removed": False})["removed"] for urn in ours]

    run_cli("delete", "--platform", platform, "--dry-run", "--soft")
    assert removed() == [False, False, False]
    run_cli("delete", "--platform", platform, "--env", "PROD", "--soft", "--force")
    assert removed() == [True, True, False]
    run_cli("delete", "undo-by-filter", "--platform", platform, input="y\n")
    assert removed() == [False, False, False]
    run_cli("delete", "--platform", platform, "--entity-type", "dataset", "--hard", "--force")
    assert [read(urn, "datasetKey") for urn in ours] == [None] * 3


def test_delete_references_removes_references_from_other_entities(run_cli, restli_graph, read, dataset, unique):
    tag, downstream = f"urn:li:tag:{unique}", make_dataset_urn("hive", f"{unique}_down")
    _emit(restli_graph, dataset, GlobalTagsClass([TagAssociationClass(tag), TagAssociationClass("urn:li:tag:stays")]))
    lineage = UpstreamLineageClass([UpstreamClass(dataset=dataset, type="COPY")])
    _emit(restli_graph, downstream, lineage, DatasetPropertiesClass(name="down"))
    run_cli("delete", "references", "--urn", tag, "--force")
    assert [one["tag"] for one in read(dataset, "globalTags")["tags"]] == ["urn:li:tag:stays"]
    run_cli("delete", "references", "--urn", dataset, "--force")
    assert read(downstream, "upstreamLineage") == {"upstreams": []}
    assert read(dataset, "datasetProperties")["name"] == "Sales"


def test_delete_by_registry_finds_nothing_because_there_are_no_custom_models(run_cli, read, dataset):
    for how in ("--dry-run", "--hard"):
        assert "No entities found" in run_cli("delete", "by-registry", "--registry-id", "models:0.0.1", how)
    assert "models" in run_cli("delete", "by-registry", "--registry-id", "models", "--dry-run")
    assert read(dataset, "status") == {"removed": False}


def test_timeline_shows_changes(run_cli, restli_graph, dataset):
    _emit(restli_graph, dataset, DatasetPropertiesClass(name="Sales", description="Better words"))
    _emit(restli_graph, dataset, GlobalTagsClass([TagAssociationClass("urn:li:tag:gold")]))
    shown = run_cli("timeline", "--urn", dataset, "-c", "documentation", "-c", "tag")
    changes = [line.split()[:2] for line in shown.splitlines() if line.startswith("\t")]
    assert changes == [["ADD", "DOCUMENTATION"], ["MODIFY", "DOCUMENTATION"], ["ADD", "TAG"]]
    assert "urn:li:tag:gold" in shown


def test_graphql_runs_a_query(run_cli, dataset):
    query = f'{{ dataset(urn: "{dataset}") {{ properties {{ name description }} }} }}'
    answer = json.loads(run_cli("graphql", "--query", query, "--format", "json"))
    assert answer["dataset"]["properties"] == {"name": "Sales", "description": "What was sold"}


def test_graphql_runs_a_mutation_with_variables(run_cli, read, dataset):
    mutation = "mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
    variables = {"input": {"resourceUrn": dataset, "description": "From the command line"}}
    run_cli("graphql", "--query", mutation, "--variables", json.dumps(variables))
    assert read(dataset, "editableDatasetProperties")["description"] == "From the command line"


def test_graphql_lists_and_describes_operations(run_cli):
    listed = run_cli("graphql", "--list-operations")
    assert "searchAcrossEntities" in listed and "updateDescription" in listed
    assert "DescriptionUpdateInput" in run_cli("graphql", "--describe", "updateDescription")


def test_graphql_runs_an_operation_by_name(run_cli, dataset):
    answer = run_cli("graphql", "--operation", "entityExists", "--variables", json.dumps({"urn": dataset}))
    assert json.loads(answer)["entityExists"] is True


def test_search_finds_by_words_and_filters(run_cli, dataset, unique):
    found = json.loads(run_cli("search", unique))
    assert [hit["entity"]["urn"] for hit in found["searchResults"]] == [dataset]
    assert run_cli("search", unique, "--filter", "platform=snowflake", "--urns-only").split() == []
    assert run_cli("search", unique, "--filter", "platform=hive", "--urns-only").split() == [dataset]
    assert "Sales" in run_cli("search", unique, "--table")
    assert "platform" in run_cli("search", unique, "--facets-only")


def test_lineage_shows_upstream_datasets(run_cli, restli_graph, dataset, unique):
    downstream = make_dataset_urn("hive", f"{unique}_down")
    _emit(restli_graph, downstream, UpstreamLineageClass([UpstreamClass(dataset=dataset, type="COPY")]))
    assert dataset in run_cli("lineage", "--urn", downstream, "--direction", "upstream", "--format", "json")


def test_init_with_a_token_authenticates_later_commands(run_cli, server, dataset):
    nothing = {"DATAHUB_GMS_URL": None, "DATAHUB_GMS_TOKEN": None}
    run_cli("init", "--host", server.url, "--token", server.token, environment=nothing)
    written = yaml.safe_load((run_cli.home / ".datahubenv").read_text())
    assert written["gms"]["server"] == server.url
    assert json.loads(run_cli("exists", "--urn", dataset, environment=nothing)) is True


def test_init_with_a_password_creates_a_token(run_cli, server, dataset):
    nothing = {"DATAHUB_GMS_URL": None, "DATAHUB_GMS_TOKEN": None}
    who = ["--username", ADMINISTRATOR, "--password", PASSWORD]
    run_cli("init", "--host", server.ui_url, *who, "--token-duration", "ONE_HOUR", environment=nothing)
    token = yaml.safe_load((run_cli.home / ".datahubenv").read_text())["gms"]["token"]
    assert token and token != server.token
    me = server.request(
        "POST", "/api/graphql", {"query": "{ me { corpUser { urn } } }"}, {"Authorization": f"Bearer {token}"}
    )
    assert me.json()["data"]["me"]["corpUser"]["urn"] == f"urn:li:corpuser:{ADMINISTRATOR}"
    assert json.loads(run_cli("exists", "--urn", dataset, environment=nothing)) is True


def test_init_with_port_8080_signs_in_at_port_9002(run_cli, tmp_path):
    # An address used only by this test, so that these ports are free; the whole range is loopback.
    host = f"127.77.{os.getpid() >> 8 & 255}.{max(2, os.getpid() & 255)}"
    directory = tmp_path / "ports"
    directory.mkdir()
    running = Server(directory, "--log", "info", listen=f"{host}:8080", ui_listen=f"{host}:9002")
    try:
        settings = {"DATAHUB_GMS_URL": None, "DATAHUB_GMS_TOKEN": None, "NO_PROXY": host, "no_proxy": host}
        who = ["--username", ADMINISTRATOR, "--password", PASSWORD]
        run_cli("init", "--host", running.url, *who, environment=settings, at=running)
        written = yaml.safe_load((run_cli.home / ".datahubenv").read_text())["gms"]
        assert written["server"] == f"http://{host}:8080"
        assert written["token"]
    finally:
        running.stop()
    # Without the second listener the same command fails, which proves that it uses that port.
    alone = tmp_path / "alone"
    alone.mkdir()
    running = Server(alone, listen=f"{host}:8080", ui_listen="127.0.0.1:0")
    try:
        refused = run_cli("init", "--host", running.url, *who, "--force", environment=settings, at=running, fails=True)
        assert "9002" in refused
    finally:
        running.stop()


def test_init_with_a_wrong_password_creates_no_token(run_cli, server):
    nothing = {"DATAHUB_GMS_URL": None, "DATAHUB_GMS_TOKEN": None}
    who = ["--username", ADMINISTRATOR, "--password", "wrong"]
    run_cli("init", "--host", server.ui_url, *who, fails=True, environment=nothing)
    assert not (run_cli.home / ".datahubenv").exists()


def test_user_add_creates_an_account_with_a_role_that_can_sign_in(run_cli, server, read, unique):
    # The command asks for the password at the terminal, or on standard input without one.
    password = f"{PASSWORD} of {unique}"
    arguments = ("--id", unique, "--email", f"{unique}@example.com", "--display-name", "Grace Hopper", "--role", "Reader")
    printed = run_cli("user", "add", *arguments, "--password", input=f"{password}\n{password}\n")
    urn = f"urn:li:corpuser:{unique}"
    assert urn in printed
    assert read(urn, "corpUserInfo")["displayName"] == "Grace Hopper"
    assert read(urn, "roleMembership") == {"roles": ["urn:li:dataHubRole:Reader"]}
    nothing = {"DATAHUB_GMS_URL": None, "DATAHUB_GMS_TOKEN": None}
    run_cli("init", "--host", server.url, "--username", unique, "--password", password, environment=nothing)
    refused = run_cli("user", "add", *arguments, "--password", input=f"{password}\n{password}\n", fails=True)
    assert "already exists" in refused


def test_native_users_are_created_and_refused_with_the_reason(restli_graph, read, unique):
    urn = restli_graph.create_native_user(unique, f"{unique}@example.com", "Ada", "two uncommon words", role="editor")
    assert urn == f"urn:li:corpuser:{unique}"
    assert read(urn, "roleMembership") == {"roles": ["urn:li:dataHubRole:Editor"]}
    with pytest.raises(Exception, match="at least 12 characters"):
        restli_graph.create_native_user(f"{unique}2", "b@example.com", "Bob", "short")
