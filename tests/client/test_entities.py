"""The SDK's `client.entities` and `client.resolve`, over both write APIs."""

from datetime import datetime, timezone

import pytest
from datahub.emitter.mce_builder import make_dataset_urn, make_domain_urn, make_group_urn, make_tag_urn, make_term_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.errors import ItemNotFoundError, SdkUsageError
from datahub.metadata.schema_classes import (
    CorpUserInfoClass,
    DomainPropertiesClass,
    GlossaryTermInfoClass,
)
from datahub.sdk import Chart, Container, Dashboard, DataFlow, DataJob, Dataset, MLModel, MLModelGroup, Tag
from datahub.emitter.mcp_builder import DatabaseKey


def _dataset(unique, **more):
    return Dataset(
        platform="snowflake",
        name=f"shop.{unique}",
        description="What was sold",
        display_name="Sales",
        qualified_name=f"SHOP.{unique.upper()}",
        external_url="https://warehouse.example.com/sales",
        custom_properties={"team": "shop", "with / slash": "ünïcode"},
        created=datetime(2026, 1, 2, tzinfo=timezone.utc),
        schema=[("sale_id", "bigint", "Number of the sale"), ("total", "decimal")],
        tags=["urn:li:tag:gold"],
        terms=["urn:li:glossaryTerm:Revenue"],
        owners=["urn:li:corpuser:alice", make_group_urn("shop")],
        domain=make_domain_urn("commerce"),
        links=[("https://wiki.example.com/sales", "Wiki")],
        subtype="Table",
        **more,
    )


def test_a_dataset_is_created_once(client, read, unique):
    client.entities.create(_dataset(unique))
    urn = make_dataset_urn("snowflake", f"shop.{unique}")
    properties = read(urn, "datasetProperties")
    assert properties["name"] == "Sales"
    assert properties["customProperties"] == {"team": "shop", "with / slash": "ünïcode"}
    assert properties["created"]["time"] == 1767312000000
    assert [field["fieldPath"] for field in read(urn, "schemaMetadata")["fields"]] == ["sale_id", "total"]
    assert [tag["tag"] for tag in read(urn, "globalTags")["tags"]] == ["urn:li:tag:gold"]
    assert [term["urn"] for term in read(urn, "glossaryTerms")["terms"]] == ["urn:li:glossaryTerm:Revenue"]
    owners = [owner["owner"] for owner in read(urn, "ownership")["owners"]]
    assert owners == ["urn:li:corpuser:alice", "urn:li:corpGroup:shop"]
    assert read(urn, "domains")["domains"] == ["urn:li:domain:commerce"]
    assert read(urn, "institutionalMemory")["elements"][0]["url"] == "https://wiki.example.com/sales"
    assert read(urn, "subTypes") == {"typeNames": ["Table"]}
    with pytest.raises(SdkUsageError, match="already exists"):
        client.entities.create(_dataset(unique))


def test_a_read_returns_what_was_written(client, unique):
    put = _dataset(unique, upstreams=[make_dataset_urn("snowflake", "shop.raw")])
    client.entities.upsert(put)
    got = client.entities.get(put.urn)
    # What the server maintains: a second list of domains, and the owners by type.
    own = ("domainAssociations", "ownerTypes")
    for proposal in put.as_mcps():
        kept, sent = (
            {name: value for name, value in aspect.to_obj().items() if name not in own}
            for aspect in (got._aspects[proposal.aspectName], proposal.aspect)
        )
        assert kept == sent, proposal.aspectName


def test_an_update_changes_only_the_modified_parts(client, read, unique):
    client.entities.upsert(_dataset(unique))
    dataset = client.entities.get(make_dataset_urn("snowflake", f"shop.{unique}"))
    dataset.add_tag("urn:li:tag:silver")
    dataset.remove_owner("urn:li:corpuser:alice")
    dataset["total"].add_term(make_term_urn("Amount"))
    client.entities.update(dataset)
    tags = [tag["tag"] for tag in read(dataset.urn, "globalTags")["tags"]]
    assert tags == ["urn:li:tag:gold", "urn:li:tag:silver"]
    assert [owner["owner"] for owner in read(dataset.urn, "ownership")["owners"]] == ["urn:li:corpGroup:shop"]
    (column,) = read(dataset.urn, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert column["glossaryTerms"]["terms"][0]["urn"] == "urn:li:glossaryTerm:Amount"
    assert read(dataset.urn, "editableDatasetProperties")["description"] == "What was sold"


def test_a_soft_deleted_entity_exists_and_is_not_found(client, server, read, unique):
    dataset = _dataset(unique)
    client.entities.upsert(dataset)
    client.entities.delete(dataset.urn)
    assert read(dataset.urn, "status") == {"removed": True}
    assert read(dataset.urn, "datasetProperties")["name"] == "Sales"
    assert list(client.search.get_urns(query=unique)) == []


def test_a_hard_deleted_entity_does_not_exist(client, read, unique):
    dataset = _dataset(unique)
    client.entities.upsert(dataset)
    client.entities.delete(dataset.urn, hard=True)
    assert read(dataset.urn, "datasetProperties") is None
    assert read(dataset.urn, "datasetKey") is None
    with pytest.raises(ItemNotFoundError):
        client.entities.get(dataset.urn)
    with pytest.raises(SdkUsageError, match="does not exist"):
        client.entities.delete(dataset.urn)


@pytest.mark.parametrize(
    "kind", ["chart", "dashboard", "dataFlow", "dataJob", "container", "mlModel", "mlModelGroup", "tag"]
)
def test_other_entity_types_are_read_back(kind, client, unique):
    name = f"{unique}"
    flow = DataFlow(platform="airflow", name=name, description="A pipeline")
    made = {
        "chart": lambda: Chart(platform="looker", name=name, display_name="Chart", description="Bars"),
        "dashboard": lambda: Dashboard(platform="looker", name=name, display_name="Board", description="Charts"),
        "dataFlow": lambda: flow,
        "dataJob": lambda: DataJob(flow=flow, name="task", description="A step"),
        "container": lambda: Container(DatabaseKey(platform="snowflake", database=name), display_name="Database"),
        "mlModel": lambda: MLModel(platform="mlflow", id=name, name="Model", description="Predicts"),
        "mlModelGroup": lambda: MLModelGroup(platform="mlflow", id=name, name="Models"),
        "tag": lambda: Tag(name=name, description="A label"),
    }[kind]()
    client.entities.upsert(made)
    got = client.entities.get(made.urn)
    assert str(got.urn) == str(made.urn)
    for proposal in made.as_mcps():
        assert got._aspects[proposal.aspectName].to_obj() == proposal.aspect.to_obj(), proposal.aspectName


def test_a_missing_entity_is_not_found(client, unique):
    with pytest.raises(ItemNotFoundError):
        client.entities.get(make_dataset_urn("hive", unique))


def test_a_domain_is_resolved_by_name(client, graph, unique):
    urn = make_domain_urn(unique)
    properties = DomainPropertiesClass(name=f"Name of {unique}")
    graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=properties))
    assert str(client.resolve.domain(name=f"Name of {unique}")) == urn
    assert graph.get_domain_urn_by_name(f"Name of {unique}") == urn
    with pytest.raises(ItemNotFoundError):
        client.resolve.domain(name=f"Another than {unique}")


def test_users_and_terms_are_resolved_by_name(client, graph, unique):
    user, term = f"urn:li:corpuser:{unique}", f"urn:li:glossaryTerm:{unique}"
    info = CorpUserInfoClass(active=True, displayName=f"User {unique}", email=f"{unique}@example.com")
    graph.emit(MetadataChangeProposalWrapper(entityUrn=user, aspect=info))
    meaning = GlossaryTermInfoClass(definition="", termSource="INTERNAL", name=f"Term {unique}")
    graph.emit(MetadataChangeProposalWrapper(entityUrn=term, aspect=meaning))
    assert str(client.resolve.user(name=f"User {unique}")) == user
    assert str(client.resolve.user(email=f"{unique}@example.com")) == user
    assert str(client.resolve.term(name=f"Term {unique}")) == term


def test_a_tag_is_created_and_removed(client, graph, server, read, unique):
    tag = graph.create_tag(unique)
    assert tag == make_tag_urn(unique)
    assert read(tag, "tagProperties")["name"] == unique
    dataset = Dataset(platform="hive", name=unique, tags=[tag, "urn:li:tag:other"])
    client.entities.upsert(dataset)
    assert graph.remove_tag(tag, str(dataset.urn)) is True
    assert [one["tag"] for one in read(dataset.urn, "globalTags")["tags"]] == ["urn:li:tag:other"]
