"""The client's command line: migrations, which give entities new URNs and move their references."""

import json

import pytest
from datahub.emitter.mce_builder import make_dataset_urn, make_dataset_urn_with_platform_instance
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    EditableSchemaFieldInfoClass,
    EditableSchemaMetadataClass,
    OtherSchemaClass,
    OwnerClass,
    OwnershipClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StringTypeClass,
    SubTypesClass,
    UpstreamClass,
    UpstreamLineageClass,
)

pytestmark = pytest.mark.any_engine

ALICE = "urn:li:corpuser:alice"


def _emit(graph, urn, *aspects):
    graph.emit_mcps([MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for aspect in aspects])


@pytest.fixture
def pair(restli_graph, unique):
    """Two datasets of a platform of their own; the second is derived from the first."""
    first, second = (make_dataset_urn(unique, name) for name in ("sales.orders", "sales.daily"))
    _emit(restli_graph, first, DatasetPropertiesClass(description="One row per order"))
    _emit(restli_graph, first, OwnershipClass([OwnerClass(ALICE, "DATAOWNER")]))
    _emit(restli_graph, second, UpstreamLineageClass([UpstreamClass(first, "TRANSFORMED")]))
    return first, second


def _is_moved(read, before, after):
    first, second = after
    assert read(first, "datasetProperties")["description"] == "One row per order"
    assert [one["owner"] for one in read(first, "ownership")["owners"]] == [ALICE]
    assert [one["dataset"] for one in read(second, "upstreamLineage")["upstreams"]] == [first]
    for urn in before:
        assert read(urn, "status") == {"removed": True}


def test_entities_move_into_an_instance_and_into_another(run_cli, read, pair, unique):
    def in_instance(instance):
        names = ("sales.orders", "sales.daily")
        return [make_dataset_urn_with_platform_instance(unique, name, instance) for name in names]

    run_cli("migrate", "dataplatform2instance", "--platform", unique, "--instance", "east", "--force")
    _is_moved(read, pair, in_instance("east"))
    run_cli("migrate", "instance2instance", "--platform", unique, "--old-instance", "east", "--new-instance", "west", "--force")
    _is_moved(read, in_instance("east"), in_instance("west"))


def test_entities_move_to_the_urns_of_a_mapping(run_cli, read, pair, tmp_path, unique):
    after = [make_dataset_urn("hive", f"{unique}.{name}") for name in ("orders", "daily")]
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps(dict(zip(pair, after))))
    run_cli("migrate", "urns-mapping", "--mapping-file", mapping, "--force")
    _is_moved(read, pair, after)


def _schema(path):
    column = SchemaFieldClass(path, SchemaFieldDataTypeClass(StringTypeClass()), "varchar")
    return SchemaMetadataClass("sales", "urn:li:dataPlatform:oracle", 0, "", OtherSchemaClass(""), [column])


def test_edits_of_columns_follow_a_change_of_case(run_cli, restli_graph, read, unique):
    urn = make_dataset_urn("oracle", unique)
    edit = EditableSchemaFieldInfoClass("CUSTOMER_ID", description="Who bought it")
    _emit(restli_graph, urn, _schema("CUSTOMER_ID"), EditableSchemaMetadataClass([edit]))
    _emit(restli_graph, urn, _schema("customer_id"))
    run_cli("migrate", "schema-field-case", "--urn", urn, "--force")
    (moved,) = read(urn, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert (moved["fieldPath"], moved["description"]) == ("customer_id", "Who bought it")


def test_owners_of_a_semantic_view_are_copied_to_its_semantic_model(run_cli, restli_graph, read, unique):
    view = make_dataset_urn("snowflake", f"db.schema.{unique}")
    _emit(restli_graph, view, SubTypesClass(["Semantic View"]), OwnershipClass([OwnerClass(ALICE, "DATAOWNER")]))
    run_cli("migrate", "snowflake-semantic-views", "--direction", "dataset-to-sm", "--urn", view, "--force")
    model = f"urn:li:semanticModel:(urn:li:dataPlatform:snowflake,db.schema,{unique})"
    assert [one["owner"] for one in read(model, "ownership")["owners"]] == [ALICE]
