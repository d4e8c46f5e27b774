"""The requests of the tutorials about custom assertions, data contracts, incidents and operations."""

import time

import pytest
from datahub.api.graphql import Assertion, Operation
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.sdk import DataHubClient, Dataset


@pytest.fixture
def dataset(server, unique):
    made = Dataset(platform="snowflake", name=unique, schema=[("id", "bigint"), ("price", "decimal")])
    DataHubClient.from_env().entities.upsert(made)
    return str(made.urn)


@pytest.fixture
def assertion(server, dataset, unique):
    """`assertion(suffix, **changed)` stores a check of a column and returns its URN."""
    mutation = """mutation ($urn: String, $input: UpsertCustomAssertionInput!) {
        upsertCustomAssertion(urn: $urn, input: $input) { urn } }"""

    def store(suffix="", **changed):
        sent = {
            "entityUrn": dataset,
            "type": "My checks",
            "description": "The price is known",
            "platform": {"urn": "urn:li:dataPlatform:great-expectations"},
            "fieldPaths": ["price"],
            "externalUrl": "https://checks.example.com/1",
            "scope": "DATASET_COLUMN",
            "operator": "NOT_NULL",
            "aggregation": "IDENTITY",
            "nativeType": "expect_column_values_to_not_be_null",
        } | changed
        return server.graphql(mutation, urn=f"urn:li:assertion:{unique}{suffix}", input=sent)["upsertCustomAssertion"]["urn"]

    return store


REPORT = """mutation ($urn: String!, $result: AssertionResultInput!) {
    reportAssertionResult(urn: $urn, result: $result) }"""


def report(server, urn, kind, at=None, **more):
    result = {"type": kind, "properties": [{"key": "rows", "value": "7"}]} | more
    if at:
        result["timestampMillis"] = at
    assert server.graphql(REPORT, urn=urn, result=result)["reportAssertionResult"] is True


def test_an_assertion_without_a_urn_gets_one(server, dataset):
    mutation = "mutation ($input: UpsertCustomAssertionInput!) { upsertCustomAssertion(input: $input) { urn } }"
    sent = {"entityUrn": dataset, "type": "t", "description": "d", "platform": {"name": "mine"}, "fieldPath": "id"}
    urns = {server.graphql(mutation, input=sent)["upsertCustomAssertion"]["urn"] for _ in range(2)}
    assert len(urns) == 2 and all(urn.startswith("urn:li:assertion:") for urn in urns)


def test_an_assertion_is_read_with_its_results(server, dataset, assertion):
    urn = assertion()
    now = int(time.time() * 1000)
    report(server, urn, "FAILURE", now - 1000)
    report(server, urn, "SUCCESS", now)
    query = """query ($urn: String!) { assertion(urn: $urn) { urn
        runEvents(status: COMPLETE, limit: 10) { total failed succeeded
            runEvents { timestampMillis status result { type nativeResults { key value } } } }
        info { type description externalUrl
            customAssertion { type entityUrn field { path } fields { path } scope operator aggregation nativeType }
            source { type } }
        relationships(input: {types: ["Asserts"], direction: OUTGOING}) { total relationships { entity { urn } } } } }"""
    found = server.graphql(query, urn=urn)["assertion"]
    events = found["runEvents"]
    assert (events["total"], events["failed"], events["succeeded"]) == (2, 1, 1)
    assert [event["result"]["type"] for event in events["runEvents"]] == ["SUCCESS", "FAILURE"]
    assert events["runEvents"][0]["timestampMillis"] == now
    assert events["runEvents"][0]["result"]["nativeResults"] == [{"key": "rows", "value": "7"}]
    assert found["info"]["type"] == "CUSTOM"
    assert found["info"]["source"] == {"type": "EXTERNAL"}
    assert found["info"]["customAssertion"] == {
        "type": "My checks",
        "entityUrn": dataset,
        "field": {"path": "price"},
        "fields": [{"path": "price"}],
        "scope": "DATASET_COLUMN",
        "operator": "NOT_NULL",
        "aggregation": "IDENTITY",
        "nativeType": "expect_column_values_to_not_be_null",
    }
    assert found["relationships"]["total"] >= 1
    assert dataset in {related["entity"]["urn"] for related in found["relationships"]["relationships"]}


def test_the_assertions_of_a_dataset_are_listed_with_the_last_result(server, dataset, assertion):
    urn = assertion()
    report(server, urn, "ERROR", error={"type": "UNKNOWN_ERROR", "message": "no connection"})
    query = """query ($urn: String!) { dataset(urn: $urn) { assertions(start: 0, count: 1000) { start count total
        assertions { urn runEvents(status: COMPLETE, limit: 1) { total runEvents { result { type error { type } } } } } } } }"""
    found = server.graphql(query, urn=dataset)["dataset"]["assertions"]
    assert (found["start"], found["total"]) == (0, 1)
    (listed,) = found["assertions"]
    assert listed["urn"] == urn
    assert listed["runEvents"]["runEvents"] == [{"result": {"type": "ERROR", "error": {"type": "UNKNOWN_ERROR"}}}]


def test_an_assertion_is_tagged_and_deleted(server, assertion, read, unique):
    urn = assertion()
    server.graphql("mutation ($input: CreateTagInput!) { createTag(input: $input) }", input={"id": unique, "name": unique})
    tag = f"urn:li:tag:{unique}"
    add = "mutation ($input: TagAssociationInput!) { addTag(input: $input) }"
    assert server.graphql(add, input={"tagUrn": tag, "resourceUrn": urn})["addTag"] is True
    assert [one["tag"] for one in read(urn, "globalTags")["tags"]] == [tag]
    assert server.graphql("mutation ($urn: String!) { deleteAssertion(urn: $urn) }", urn=urn)["deleteAssertion"] is True
    assert read(urn, "assertionInfo") is None


def test_the_client_stores_reads_and_reports(server, dataset, unique):
    graph = DataHubGraph(DatahubClientConfig(server=server.url, token=server.token))
    stored = graph.upsert_custom_assertion(
        urn=f"urn:li:assertion:{unique}",
        entity_urn=dataset,
        type="My checks",
        description="The price is known",
        platform_urn="urn:li:dataPlatform:great-expectations",
        field_path="price",
    )
    assert graph.report_assertion_result(
        urn=stored["urn"], timestamp_millis=int(time.time() * 1000), type="SUCCESS", external_url="https://example.com/1"
    )
    client = Assertion(datahub_host=server.url, datahub_token=server.token)
    (found,) = client.query_assertion(urn=dataset, status="COMPLETE", limit=5)
    (event,) = found["runEvents"]["runEvents"]
    assert (event["assertionUrn"], event["result"]["type"]) == (stored["urn"], "SUCCESS")
    assert event["result"]["externalUrl"] == "https://example.com/1"


def test_a_contract_consists_of_assertions(server, dataset, assertion):
    fresh, shape, quality, more = (assertion(f"_{end}") for end in ("fresh", "shape", "quality", "more"))
    mutation = """mutation ($urn: String, $input: UpsertDataContractInput!) {
        upsertDataContract(urn: $urn, input: $input) { urn } }"""
    sent = {
        "entityUrn": dataset,
        "freshness": [{"assertionUrn": fresh}],
        "schema": [{"assertionUrn": shape}],
        "dataQuality": [{"assertionUrn": quality}],
    }
    contract = server.graphql(mutation, input=sent)["upsertDataContract"]["urn"]
    sent["dataQuality"].append({"assertionUrn": more})
    assert server.graphql(mutation, urn=contract, input=sent)["upsertDataContract"]["urn"] == contract
    query = """query ($urn: String!) { dataset(urn: $urn) { contract { urn properties { entityUrn
        freshness { assertion { urn } } schema { assertion { urn } } dataQuality { assertion { urn } } } } } }"""
    found = server.graphql(query, urn=dataset)["dataset"]["contract"]
    assert found["urn"] == contract
    assert found["properties"] == {
        "entityUrn": dataset,
        "freshness": [{"assertion": {"urn": fresh}}],
        "schema": [{"assertion": {"urn": shape}}],
        "dataQuality": [{"assertion": {"urn": quality}}, {"assertion": {"urn": more}}],
    }


def test_an_incident_is_raised_listed_and_resolved(server, dataset):
    raise_ = "mutation ($input: RaiseIncidentInput!) { raiseIncident(input: $input) }"
    late = {"resourceUrn": dataset, "type": "OPERATIONAL", "title": "Late", "description": "No power", "priority": "HIGH"}
    leak = {"resourceUrn": dataset, "type": "CUSTOM", "customType": "LEAK", "title": "Leak", "description": "Too much"}
    urns = [server.graphql(raise_, input=sent)["raiseIncident"] for sent in (late, leak)]
    query = """query ($urn: String!, $state: IncidentState) { dataset(urn: $urn) { incidents(state: $state, start: 0,
        count: 20) { start count total incidents { urn incidentType customType title description priority
        status { state message lastUpdated { actor } } } } } }"""

    def listed(state):
        found = server.graphql(query, urn=dataset, state=state)["dataset"]["incidents"]
        assert found["total"] == len(found["incidents"])
        return {incident["urn"]: incident for incident in found["incidents"]}

    active = listed("ACTIVE")
    assert set(active) == set(urns)
    assert (active[urns[0]]["incidentType"], active[urns[0]]["priority"]) == ("OPERATIONAL", "HIGH")
    assert (active[urns[1]]["incidentType"], active[urns[1]]["customType"]) == ("CUSTOM", "LEAK")
    resolve = """mutation ($urn: String!, $input: IncidentStatusInput!) {
        updateIncidentStatus(urn: $urn, input: $input) }"""
    sent = {"state": "RESOLVED", "message": "Power is back"}
    assert server.graphql(resolve, urn=urns[0], input=sent)["updateIncidentStatus"] is True
    assert set(listed("ACTIVE")) == {urns[1]}
    assert listed("RESOLVED")[urns[0]]["status"] == {
        "state": "RESOLVED",
        "message": "Power is back",
        "lastUpdated": {"actor": "urn:li:corpuser:datahub"},
    }


def test_operations_are_reported_and_read(server, dataset):
    report_ = "mutation ($input: ReportOperationInput!) { reportOperation(input: $input) }"
    sent = {"urn": dataset, "operationType": "INSERT", "sourceType": "DATA_PROCESS"}
    assert server.graphql(report_, input=sent)["reportOperation"] == "true"
    client = Operation(datahub_host=server.url, datahub_token=server.token)
    assert client.report_operation(urn=dataset, source_type="DATA_PROCESS", operation_type="UPDATE") == "true"
    query = """query ($urn: String!, $from: Long, $to: Long) { dataset(urn: $urn) {
        operations(limit: 10, startTimeMillis: $from, endTimeMillis: $to) { timestampMillis operationType sourceType } } }"""
    now = int(time.time() * 1000)
    span = {"from": now - 600_000, "to": now + 600_000}
    found = server.graphql(query, urn=dataset, **span)["dataset"]["operations"]
    assert {operation["operationType"] for operation in found} == {"INSERT", "UPDATE"}
    assert {operation["sourceType"] for operation in found} == {"DATA_PROCESS"}
    later = {"from": now + 600_000, "to": now + 700_000}
    assert server.graphql(query, urn=dataset, **later)["dataset"]["operations"] == []
    queried = client.query_operations(urn=dataset, limit=1, start_time_millis=span["from"], end_time_millis=span["to"])
    assert [operation["operationType"] for operation in queried] == [found[0]["operationType"]]
