"""The client's command line: data products, siblings, forms, contracts, agents, data packs and recipes to schedule."""

import json

import pytest
import yaml
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import DatasetPropertiesClass, DomainPropertiesClass

pytestmark = pytest.mark.any_engine


def _emit(graph, urn, aspect):
    graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect))


def _file(tmp_path, name, content):
    file = tmp_path / name
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture
def datasets(restli_graph, unique):
    urns = [make_dataset_urn("hive", f"{unique}.{name}") for name in ("orders", "books")]
    for urn in urns:
        _emit(restli_graph, urn, DatasetPropertiesClass(name=urn))
    return urns


@pytest.fixture
def product(run_cli, restli_graph, datasets, tmp_path, unique):
    """A data product from a file, with one asset and one owner."""
    domain = f"urn:li:domain:{unique}"
    _emit(restli_graph, domain, DomainPropertiesClass(name="Sales"))
    content = {
        "id": unique,
        "domain": domain,
        "display_name": "Sales product",
        "description": "All sales",
        "assets": [datasets[0]],
        "owners": [{"id": "urn:li:corpuser:alice", "type": "BUSINESS_OWNER"}],
    }
    file = _file(tmp_path, "product.yml", content)
    run_cli("dataproduct", "upsert", "-f", file)
    return f"urn:li:dataProduct:{unique}", file


def test_dataproduct_is_created_shown_and_deleted(run_cli, read, product, unique):
    urn, file = product
    assert read(urn, "dataProductProperties")["description"] == "All sales"
    assert read(urn, "domains")["domains"] == [f"urn:li:domain:{unique}"]
    assert "Sales product" in run_cli("dataproduct", "get", "--urn", urn)
    run_cli("dataproduct", "delete", "--urn", urn, "--hard", input="y\n")
    assert read(urn, "dataProductProperties") is None


def test_dataproduct_assets_and_owners_are_added_and_removed(run_cli, read, product, datasets):
    urn, file = product
    bob = ("--owner", "urn:li:corpuser:bob")

    def assets():
        return [one["destinationUrn"] for one in read(urn, "dataProductProperties")["assets"]]

    def owners():
        return sorted(one["owner"] for one in read(urn, "ownership")["owners"])

    run_cli("dataproduct", "add_asset", "--urn", urn, "--asset", datasets[1])
    assert assets() == datasets
    run_cli("dataproduct", "remove_asset", "--urn", urn, "--asset", datasets[0])
    assert assets() == datasets[1:]
    run_cli("dataproduct", "add_owner", "--urn", urn, *bob)
    assert owners() == ["urn:li:corpuser:alice", "urn:li:corpuser:bob"]
    run_cli("dataproduct", "remove_owner", "--urn", urn, bob[1])
    assert owners() == ["urn:li:corpuser:alice"]


def test_dataproduct_differs_from_its_file_until_it_is_updated(run_cli, read, product):
    urn, file = product
    run_cli("dataproduct", "set_description", "--urn", urn, "--description", "Only books")
    assert read(urn, "dataProductProperties")["description"] == "Only books"
    assert "Only books" in run_cli("dataproduct", "diff", "-f", file)
    run_cli("dataproduct", "update", "-f", file)
    assert read(urn, "dataProductProperties")["description"] == "All sales"


def test_dataset_add_sibling_links_both_datasets(run_cli, read, datasets):
    primary, secondary = datasets
    run_cli("dataset", "add-sibling", "--urn", primary, "--sibling-urns", secondary)
    assert read(primary, "siblings") == {"primary": True, "siblings": [secondary]}
    assert read(secondary, "siblings") == {"primary": False, "siblings": [primary]}


def test_forms_are_stored_and_shown(run_cli, read, datasets, tmp_path, unique):
    property_file = [{"id": f"{unique}.retention", "display_name": "Retention", "type": "number", "entity_types": ["dataset"]}]
    run_cli("properties", "upsert", "-f", _file(tmp_path, "properties.yml", property_file))
    prompt = {
        "id": f"{unique}.prompt",
        "title": "How long is it kept?",
        "type": "STRUCTURED_PROPERTY",
        "structured_property_id": f"{unique}.retention",
        "required": True,
    }
    form = {"id": unique, "name": "Retention", "type": "VERIFICATION", "prompts": [prompt], "entities": {"urns": datasets[:1]}}
    run_cli("forms", "upsert", "-f", _file(tmp_path, "forms.yml", [form]))
    urn = f"urn:li:form:{unique}"
    assert read(urn, "formInfo")["prompts"][0]["title"] == "How long is it kept?"
    assert [one["urn"] for one in read(datasets[0], "forms")["incompleteForms"]] == [urn]
    assert "How long is it kept?" in run_cli("forms", "get", "--urn", urn)


def test_datacontract_is_stored_with_its_assertion_and_deleted(run_cli, read, server, datasets, tmp_path):
    contract = {"version": 1, "entity": datasets[0], "freshness": {"type": "cron", "cron": "0 * * * *"}}
    run_cli("datacontract", "upsert", "-f", _file(tmp_path, "contract.yml", contract))
    query = "query ($urn: String!) { dataset(urn: $urn) { contract { urn properties { freshness { assertion { urn } } } } } }"
    stored = server.graphql(query, urn=datasets[0])["dataset"]["contract"]
    assertion = stored["properties"]["freshness"][0]["assertion"]["urn"]
    assert read(assertion, "assertionInfo")["freshnessAssertion"]["schedule"]["cron"]["cron"] == "0 * * * *"
    run_cli("datacontract", "delete", "--urn", stored["urn"], "--hard", input="y\n")
    assert read(stored["urn"], "dataContractProperties") is None


@pytest.mark.parametrize(
    "command, entity, aspect",
    [("agent", "aiAgent", "aiAgentInfo"), ("agent-skill", "agentSkill", "agentSkillInfo"), ("api", "api", "apiProperties")],
    ids=["agent", "skill", "api"],
)
def test_agents_skills_and_apis_are_registered(command, entity, aspect, run_cli, read, unique):
    run_cli(command, "register", "--id", unique, "--name", "Registered here")
    assert "Registered here" in json.dumps(read(f"urn:li:{entity}:{unique}", aspect))


def test_datapack_is_loaded_and_unloaded(run_cli, read, tmp_path, unique):
    tag = f"urn:li:tag:{unique}"
    proposal = {"entityType": "tag", "entityUrn": tag, "changeType": "UPSERT", "aspectName": "tagProperties"}
    pack = tmp_path / "pack.json"
    pack.write_text(json.dumps([proposal | {"aspect": {"json": {"name": "Packed"}}}]))
    run_cli("datapack", "load", unique, "--url", pack.as_uri(), "--trust-custom")
    assert read(tag, "tagProperties")["name"] == "Packed"
    run_cli("datapack", "unload", unique, "--hard")
    assert read(tag, "tagProperties") is None


def test_ingest_deploy_stores_a_source_with_its_schedule(run_cli, server, tmp_path, unique):
    recipe = _file(tmp_path, "recipe.yml", {"source": {"type": "file", "config": {"path": "./nothing.json"}}})
    run_cli("ingest", "deploy", "--name", unique, "-c", recipe, "--schedule", "5 * * * *")
    query = """query ($input: ListIngestionSourcesInput!) { listIngestionSources(input: $input) {
        ingestionSources { name schedule { interval timezone } config { recipe } } } }"""
    sources = server.graphql(query, input={"start": 0, "count": 100})["listIngestionSources"]["ingestionSources"]
    (source,) = [one for one in sources if one["name"] == unique]
    assert source["schedule"] == {"interval": "5 * * * *", "timezone": "UTC"}
    assert json.loads(source["config"]["recipe"])["source"] == {"type": "file", "config": {"path": "./nothing.json"}}


def test_iceberg_lists_no_warehouse_and_names_a_missing_one(run_cli):
    assert run_cli("iceberg", "list").strip() == ""
    assert "does not exist" in run_cli("iceberg", "get", "--warehouse", "nothing", fails=True)
