"""Custom assertions, roles and the server's supported aspects, through the client's helpers."""

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mce_builder import make_schema_field_urn
from datahub.metadata.schema_classes import AssertionRunEventClass
from datahub.sdk import Dataset


def test_a_custom_assertion_is_stored_and_its_result_reported(client, graph, read, unique):
    dataset = Dataset(platform="hive", name=unique, schema=[("id", "bigint")])
    client.entities.upsert(dataset)
    entity = str(dataset.urn)
    stored = graph.upsert_custom_assertion(
        urn=f"urn:li:assertion:{unique}",
        entity_urn=entity,
        type="row count",
        description="has rows",
        platform_name="checker",
        field_path="id",
        logic="select count(*) from t",
        operator="GREATER_THAN",
        parameters={"value": {"value": "0", "type": "NUMBER"}},
        native_parameters=[{"key": "retries", "value": "2"}],
    )
    urn = stored["urn"]
    assert urn == f"urn:li:assertion:{unique}"
    info = read(urn, "assertionInfo")
    assert (info["type"], info["description"], info["source"]["type"]) == ("CUSTOM", "has rows", "EXTERNAL")
    assert info["customAssertion"] == {
        "type": "row count",
        "entity": entity,
        "field": make_schema_field_urn(entity, "id"),
        "fields": [make_schema_field_urn(entity, "id")],
        "logic": "select count(*) from t",
        "operator": "GREATER_THAN",
        "parameters": {"value": {"value": "0", "type": "NUMBER"}},
        "nativeParameters": {"retries": "2"},
    }
    assert read(urn, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:checker"}

    assert graph.report_assertion_result(
        urn=urn, timestamp_millis=1794701076063, type="FAILURE", properties=[{"key": "rows", "value": "0"}]
    )
    event = graph.get_latest_timeseries_value(urn, AssertionRunEventClass, {})
    assert (event.timestampMillis, event.asserteeUrn, event.status) == (1794701076063, entity, "COMPLETE")
    assert (event.result.type, event.result.nativeResults) == ("FAILURE", {"rows": "0"})


def test_a_role_is_stored(graph, read, server, unique):
    user = f"urn:li:corpuser:{unique}"
    info = {"active": True}
    server.request("POST", "/openapi/v3/entity/corpuser?async=false", [{"urn": user, "corpUserInfo": {"value": info}}])
    graph._assign_role_to_user(user, "Reader")
    assert read(user, "roleMembership") == {"roles": ["urn:li:dataHubRole:Reader"]}


def test_a_native_user_is_created(graph, read, unique):
    user = graph.create_native_user(unique, "a@example.com", "Ada", "marmot compost lantern")
    assert read(user, "corpUserInfo")["displayName"] == "Ada"
    with pytest.raises(OperationalError, match="12 characters"):
        graph.create_native_user(f"{unique}_2", "a@example.com", "Ada", "short")


def test_the_supported_aspects_are_reported(graph):
    specifications = graph.get_entity_aspect_specs()
    assert len(specifications.entity_aspects) == 72
    assert specifications.supports("dataset", "schemaMetadata")
    assert specifications.supports("dataset", "datasetKey")
    assert not specifications.supports("dataset", "domainProperties")
