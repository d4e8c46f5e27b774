"""The GraphQL requests of the lineage tutorial. `test_search_and_lineage.py` has those of the client."""

import pytest
from datahub.emitter.mce_builder import make_schema_field_urn
from datahub.metadata.urns import DataFlowUrn, DataJobUrn, DatasetUrn
from datahub.sdk import DataFlow, DataHubClient, DataJob, Dataset
from datahub.sdk import FilterDsl as F


@pytest.fixture
def sdk(server):
    return DataHubClient.from_env()


@pytest.fixture
def chain(sdk, unique):
    """Three tables, each made from the one before."""
    columns = [("id", "bigint"), ("region", "varchar")]
    tables = [Dataset(platform="snowflake", name=f"{unique}_{number}", schema=columns) for number in range(3)]
    for table in tables:
        sdk.entities.upsert(table)
    for upstream, downstream in zip(tables, tables[1:]):
        sdk.lineage.add_lineage(upstream=upstream.urn, downstream=downstream.urn, column_lineage="auto_strict")
    return [str(table.urn) for table in tables]


def test_lineage_is_scrolled_by_degree(server, chain):
    query = """query ($input: ScrollAcrossLineageInput!) { scrollAcrossLineage(input: $input) {
        searchResults { degree entity { urn type } } } }"""

    def found(*degrees):
        criterion = {"condition": "EQUAL", "negated": False, "field": "degree", "values": list(degrees)}
        sent = {"query": "*", "urn": chain[0], "count": 10, "direction": "DOWNSTREAM", "orFilters": [{"and": [criterion]}]}
        results = server.graphql(query, input=sent)["scrollAcrossLineage"]["searchResults"]
        return {result["entity"]["urn"]: result["degree"] for result in results}

    assert found("1", "2", "3+") == {chain[1]: 1, chain[2]: 2}
    assert found("2") == {chain[2]: 2}


def test_direct_lineage_of_a_period_is_searched(server, chain):
    query = """query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
        searchResults { degree entity { urn type } } } }"""
    sent = {"query": "*", "urn": chain[1], "count": 10, "direction": "UPSTREAM"}
    sent["orFilters"] = [{"and": [{"field": "degree", "values": ["1"]}]}]
    sent["lineageFlags"] = {"startTimeMillis": 0, "endTimeMillis": 4102444800000}
    found = server.graphql(query, input=sent)["searchAcrossLineage"]["searchResults"]
    assert found == [{"degree": 1, "entity": {"urn": chain[0], "type": "DATASET"}}]


def test_lineage_of_columns_has_paths(sdk, chain):
    results = sdk.lineage.get_lineage(source_urn=chain[0], source_column="id", direction="downstream", max_hops=3)
    columns = [make_schema_field_urn(table, "id") for table in chain]
    paths = {result.hops: [step.urn for step in result.paths] for result in results}
    assert paths == {1: columns[:2], 2: columns}
    (near,) = sdk.lineage.get_lineage(source_urn=chain[0], source_column="id", direction="downstream", max_hops=1)
    assert [(step.column_name, step.urn) for step in near.paths] == [("id", column) for column in columns[:2]]


def test_lineage_is_filtered(sdk, chain):
    only = F.and_(F.platform("snowflake"), F.entity_type("dataset"), F.env("PROD"))
    found = sdk.lineage.get_lineage(source_urn=chain[2], direction="upstream", filter=only, max_hops=2)
    assert {result.urn for result in found} == set(chain[:2])
    assert sdk.lineage.get_lineage(source_urn=chain[2], direction="upstream", filter=F.platform("hive")) == []


def test_lineage_between_jobs_and_tables_is_added(sdk, chain, unique):
    flow = DataFlow(platform="airflow", name=unique)
    jobs = [DataJob(name=f"job_{number}", flow=flow) for number in range(2)]
    for entity in (flow, *jobs):
        sdk.entities.upsert(entity)
    urns = [DataJobUrn(flow=DataFlowUrn("airflow", unique, "PROD"), job_id=f"job_{number}") for number in range(2)]
    sdk.lineage.add_lineage(upstream=urns[0], downstream=urns[1])
    sdk.lineage.add_lineage(upstream=DatasetUrn.from_string(chain[2]), downstream=urns[0])
    found = sdk.lineage.get_lineage(source_urn=chain[2], direction="downstream", max_hops=2)
    assert {result.urn: result.hops for result in found} == {str(urns[0]): 1, str(urns[1]): 2}


def test_an_edge_is_added_and_removed(server, sdk, unique):
    tables = [Dataset(platform="hive", name=f"{unique}_{name}") for name in ("source", "target")]
    for table in tables:
        sdk.entities.upsert(table)
    source, target = (str(table.urn) for table in tables)
    mutation = "mutation ($input: UpdateLineageInput!) { updateLineage(input: $input) }"
    edge = {"upstreamUrn": source, "downstreamUrn": target}

    def upstreams():
        lineage = server.read(target, "upstreamLineage") or {}
        return [upstream["dataset"] for upstream in lineage.get("upstreams", [])]

    assert server.graphql(mutation, input={"edgesToAdd": [edge], "edgesToRemove": []}) == {"updateLineage": True}
    assert upstreams() == [source]
    assert server.graphql(mutation, input={"edgesToAdd": [], "edgesToRemove": [edge]}) == {"updateLineage": True}
    assert upstreams() == []
