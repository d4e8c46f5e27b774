"""The client's command line: files that describe entities, and ingestion from files."""

import json
import re

import pytest
import yaml
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    BrowsePathEntryClass,
    BrowsePathsV2Class,
    ContainerClass,
    ContainerPropertiesClass,
    DatasetPropertiesClass,
    DomainPropertiesClass,
)
from datahub.metadata.urns import Urn

pytestmark = pytest.mark.any_engine


def _emit(graph, urn, *aspects):
    graph.emit_mcps([MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for aspect in aspects])


@pytest.fixture
def described(tmp_path, unique):
    """A file that describes a dataset."""
    file = tmp_path / "dataset.yml"
    file.write_text(
        yaml.safe_dump(
            {
                "id": unique,
                "platform": "hive",
                "name": "Sales",
                "description": "What was sold",
                "subtype": "Table",
                "tags": ["gold"],
                "owners": ["alice"],
                "properties": {"team": "shop"},
                "schema": {
                    "fields": [
                        {"id": "sale_id", "type": "number", "description": "Number of the sale"},
                        {"id": "buyer", "type": "string"},
                    ]
                },
            }
        )
    )
    return file, make_dataset_urn("hive", unique)


def _is_as_described(read, urn):
    assert read(urn, "datasetProperties")["description"] == "What was sold"
    assert read(urn, "datasetProperties")["customProperties"]["team"] == "shop"
    assert [one["tag"] for one in read(urn, "globalTags")["tags"]] == ["urn:li:tag:gold"]
    assert [one["owner"] for one in read(urn, "ownership")["owners"]] == ["urn:li:corpuser:alice"]
    assert read(urn, "subTypes")["typeNames"] == ["Table"]
    first, second = read(urn, "schemaMetadata")["fields"]
    assert (first["fieldPath"].split(".")[-1], first["description"]) == ("sale_id", "Number of the sale")
    assert list(first["type"]["type"]) == ["com.linkedin.schema.NumberType"]
    assert list(second["type"]["type"]) == ["com.linkedin.schema.StringType"]


def test_dataset_upsert_stores_the_dataset_in_a_file(run_cli, read, described):
    file, urn = described
    run_cli("dataset", "upsert", "-f", file)
    _is_as_described(read, urn)


def test_dataset_get_shows_the_dataset_and_writes_a_file(run_cli, described, tmp_path):
    file, urn = described
    run_cli("dataset", "upsert", "-f", file)
    shown = run_cli("dataset", "get", "--urn", urn, "--to-file", tmp_path / "got.yml")
    assert "What was sold" in shown
    got = yaml.safe_load((tmp_path / "got.yml").read_text())
    got = got[0] if isinstance(got, list) else got
    assert got["description"] == "What was sold"
    assert [field["id"] for field in got["schema"]["fields"]] == ["sale_id", "buyer"]


def test_dataset_sync_works_in_both_directions(run_cli, restli_graph, read, described):
    file, urn = described
    for reference in ("urn:li:tag:gold", "urn:li:corpuser:alice"):
        key = "tagKey" if ":tag:" in reference else "corpUserKey"
        _emit(restli_graph, reference, Urn.from_string(reference).to_key_aspect())
        assert read(reference, key)
    run_cli("dataset", "sync", "-f", file, "--to-datahub")
    _is_as_described(read, urn)
    properties = DatasetPropertiesClass(name="Sales", description="Changed on the server", customProperties={"team": "shop"})
    _emit(restli_graph, urn, properties)
    run_cli("dataset", "sync", "-f", file, "--from-datahub")
    assert "Changed on the server" in file.read_text()


def test_user_upsert_stores_a_user(run_cli, read, tmp_path, unique):
    file = tmp_path / "user.yml"
    person = {"id": unique, "first_name": "Ada", "last_name": "L", "full_name": "Ada L", "email": "ada@example.com"}
    person |= {"groups": [f"{unique}_group"], "title": "Analyst"}
    file.write_text(yaml.safe_dump(person))
    run_cli("user", "upsert", "-f", file)
    urn = f"urn:li:corpuser:{unique}"
    info = read(urn, "corpUserInfo")
    assert (info["fullName"], info["email"], info["title"]) == ("Ada L", "ada@example.com", "Analyst")
    assert read(urn, "groupMembership")["groups"] == [f"urn:li:corpGroup:{unique}_group"]
    # With any user-editable field, the client writes the editable aspect instead.
    file.write_text(yaml.safe_dump(person | {"description": "Counts"}))
    run_cli("user", "upsert", "-f", file)
    assert read(urn, "corpUserEditableInfo")["aboutMe"] == "Counts"


def test_group_upsert_stores_a_group_and_its_members(run_cli, read, tmp_path, unique):
    file = tmp_path / "group.yml"
    members = [f"{unique}_old", {"id": f"{unique}_new", "first_name": "New", "last_name": "Member"}]
    group = {"id": unique, "display_name": "Shop", "email": "shop@example.com", "owners": ["alice"], "members": members}
    file.write_text(yaml.safe_dump(group))
    run_cli("group", "upsert", "-f", file)
    urn = f"urn:li:corpGroup:{unique}"
    info = read(urn, "corpGroupInfo")
    assert (info["displayName"], info["email"]) == ("Shop", "shop@example.com")
    assert [one["owner"] for one in read(urn, "ownership")["owners"]] == ["urn:li:corpuser:alice"]
    for member in (f"{unique}_old", f"{unique}_new"):
        assert read(f"urn:li:corpuser:{member}", "groupMembership")["groups"] == [urn]


def test_properties_are_stored_and_listed(run_cli, own_server, tmp_path, unique):
    file = tmp_path / "properties.yml"
    definition = {
        "id": f"io.example.{unique}",
        "type": "number",
        "display_name": "Days to keep",
        "cardinality": "SINGLE",
        "entity_types": ["dataset"],
        "allowed_values": [{"value": 30, "description": "A month"}, {"value": 365, "description": "A year"}],
    }
    file.write_text(yaml.safe_dump([definition]))
    run_cli("properties", "upsert", "-f", file, at=own_server)
    urn = f"urn:li:structuredProperty:io.example.{unique}"
    stored = own_server.read(urn, "propertyDefinition")
    assert (stored["displayName"], stored["cardinality"]) == ("Days to keep", "SINGLE")
    assert [value["value"] for value in stored["allowedValues"]] == [{"double": 30.0}, {"double": 365.0}]
    assert run_cli("properties", "list", "--no-details", at=own_server).split() == [urn]
    assert "Days to keep" in run_cli("properties", "list", "--details", at=own_server)
    assert "Days to keep" in run_cli("properties", "get", "--urn", f"io.example.{unique}", at=own_server)


@pytest.fixture
def container(restli_graph, unique):
    """A container with two datasets, one of them a level deeper."""
    outer, inner = (f"urn:li:container:{unique}_{name}" for name in ("outer", "inner"))
    tables = [make_dataset_urn("hive", f"{unique}.{number}") for number in (1, 2)]
    paths = {inner: [outer], tables[0]: [outer], tables[1]: [outer, inner]}
    for urn in (outer, inner):
        _emit(restli_graph, urn, ContainerPropertiesClass(name=unique))
    for urn, parents in paths.items():
        entries = [BrowsePathEntryClass(id=parent, urn=parent) for parent in parents]
        _emit(restli_graph, urn, ContainerClass(container=parents[-1]), BrowsePathsV2Class(path=entries))
    elsewhere = make_dataset_urn("hive", f"{unique}.elsewhere")
    _emit(restli_graph, elsewhere, DatasetPropertiesClass(name="elsewhere"))
    return outer, [outer, *paths], elsewhere


@pytest.mark.parametrize(
    "label, aspect, found",
    [
        ("tag", "globalTags", lambda value: [one["tag"] for one in value["tags"]]),
        ("term", "glossaryTerms", lambda value: [one["urn"] for one in value["terms"]]),
        ("owner", "ownership", lambda value: [one["owner"] for one in value["owners"]]),
        ("domain", "domains", lambda value: value["domains"]),
    ],
    ids=["tag", "term", "owner", "domain"],
)
def test_container_labels_all_its_contents(label, aspect, found, run_cli, restli_graph, read, container, unique):
    outer, labelled, elsewhere = container
    urn = {
        "tag": f"urn:li:tag:{unique}",
        "term": f"urn:li:glossaryTerm:{unique}",
        "owner": f"urn:li:corpuser:{unique}",
        "domain": f"urn:li:domain:{unique}",
    }[label]
    if label == "domain":
        _emit(restli_graph, urn, DomainPropertiesClass(name=unique))
    run_cli("container", label, "--container-urn", outer, f"--{label}-urn", urn)
    for entity in labelled:
        assert found(read(entity, aspect)) == [urn], entity
    assert read(elsewhere, aspect) is None


@pytest.fixture
def aspects_file(tmp_path, unique):
    """A file of proposals, as the client writes and reads them."""
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(3)]
    proposals = [
        MetadataChangeProposalWrapper(
            entityUrn=urn, aspect=DatasetPropertiesClass(name=f"Table {number}", description="From a file")
        ).to_obj()
        for number, urn in enumerate(urns)
    ]
    file = tmp_path / "proposals.json"
    file.write_text(json.dumps(proposals))
    return file, urns


def _recipe(tmp_path, server, file, run):
    recipe = tmp_path / "recipe.yml"
    sink = {"type": "datahub-rest", "config": {"server": server.url, "token": server.token}}
    source = {"type": "file", "config": {"path": str(file)}}
    recipe.write_text(yaml.safe_dump({"run_id": run, "source": source, "sink": sink}))
    return recipe


def test_ingest_mcps_stores_a_file_of_proposals(run_cli, read, aspects_file):
    file, urns = aspects_file
    run_cli("ingest", "mcps", file)
    assert [read(urn, "datasetProperties")["name"] for urn in urns] == ["Table 0", "Table 1", "Table 2"]


def test_ingest_runs_a_recipe_and_the_run_is_listed_shown_and_rolled_back(
    run_cli, restli_graph, read, server, aspects_file, tmp_path, unique
):
    file, urns = aspects_file
    _emit(restli_graph, urns[0], DatasetPropertiesClass(name="Before", description="Was there"))
    run = f"run-{unique}"
    printed = run_cli("ingest", "-c", _recipe(tmp_path, server, file, run), "--no-default-report")
    assert "successfully" in printed
    assert [read(urn, "datasetProperties")["name"] for urn in urns] == ["Table 0", "Table 1", "Table 2"]

    listed = run_cli("ingest", "list-runs")
    assert run in listed
    shown = run_cli("ingest", "show", "--run-id", run, "--show-aspect")
    assert all(urn in shown for urn in urns[1:])
    assert "datasetProperties" in shown

    planned = run_cli("ingest", "rollback", "--run-id", run, "--dry-run")
    assert "will delete 2 entities" in re.sub(r"\s+", " ", planned)
    assert read(urns[1], "datasetProperties")["name"] == "Table 1"
    run_cli("ingest", "rollback", "--run-id", run, "--force")
    assert read(urns[0], "datasetProperties")["name"] == "Before"
    assert [read(urn, "datasetKey") for urn in urns[1:]] == [None, None]
    assert run not in run_cli("ingest", "list-runs")


def test_ingest_reports_its_run_to_the_server(run_cli, read, server, aspects_file, tmp_path, unique):
    file, urns = aspects_file
    recipe = _recipe(tmp_path, server, file, f"run-{unique}")
    text = yaml.safe_load(recipe.read_text()) | {"pipeline_name": f"pipeline_{unique}"}
    recipe.write_text(yaml.safe_dump(text))
    run_cli("ingest", "-c", recipe)
    assert read(urns[0], "datasetProperties")["name"] == "Table 0"
    query = "query ($input: ListIngestionSourcesInput!) { listIngestionSources(input: $input) { ingestionSources { name } } }"
    sources = server.graphql(query, input={"start": 0, "count": 100})["listIngestionSources"]["ingestionSources"]
    assert any(f"pipeline_{unique}" in one["name"] for one in sources), sources
    assert f"pipeline_{unique}" in run_cli("ingest", "list-source-runs")


def test_ingest_fails_when_a_record_is_rejected(run_cli, read, server, tmp_path, unique):
    urn = make_dataset_urn("hive", unique)
    bad = {
        "entityType": "dataset",
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": "noSuchAspect",
        "aspect": {"value": "{}", "contentType": "application/json"},
    }
    file = tmp_path / "bad.json"
    file.write_text(json.dumps([bad]))
    printed = run_cli("ingest", "-c", _recipe(tmp_path, server, file, f"run-{unique}"), fails=True)
    assert "noSuchAspect" in printed
    assert read(urn, "datasetKey") is None
