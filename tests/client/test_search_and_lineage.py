"""The SDK's `client.search` and `client.lineage`, and the older calls of the graph for the same."""

import pytest
from datahub.emitter.mce_builder import make_dataset_urn, make_schema_field_urn
from datahub.ingestion.graph.filters import RemovedStatusFilter
from datahub.ingestion.graph.openapi import LineageDirection
from datahub.sdk import Chart, Dashboard, DataFlow, DataJob, Dataset, FilterDsl as F


@pytest.fixture
def shelf(client, unique):
    """Four datasets that only this test finds, by their custom property `shelf`."""

    def put(name, **more):
        platform, env = more.pop("platform", "hive"), more.pop("env", "PROD")
        dataset = Dataset(
            platform=platform, env=env, name=f"{unique}.{name}", custom_properties={"shelf": unique}, **more
        )
        client.entities.upsert(dataset)
        return str(dataset.urn)

    return {
        "tagged": put("tagged", tags=["urn:li:tag:shelf"], owners=["urn:li:corpuser:shelf"]),
        "in_domain": put("in_domain", domain="urn:li:domain:shelf", terms=["urn:li:glossaryTerm:shelf"]),
        "elsewhere": put("elsewhere", platform="snowflake", subtype="View"),
        "for_tests": put("for_tests", env="DEV"),
    }


@pytest.mark.parametrize(
    "chosen, expected",
    [
        (F.tag("urn:li:tag:shelf"), {"tagged"}),
        (F.owner("urn:li:corpuser:shelf"), {"tagged"}),
        (F.domain("urn:li:domain:shelf"), {"in_domain"}),
        (F.glossary_term("urn:li:glossaryTerm:shelf"), {"in_domain"}),
        (F.platform("snowflake"), {"elsewhere"}),
        (F.platform(["snowflake", "hive"]), {"tagged", "in_domain", "elsewhere", "for_tests"}),
        (F.entity_subtype("View"), {"elsewhere"}),
        (F.env("DEV"), {"for_tests"}),
        (F.and_(F.env("PROD"), F.platform("hive")), {"tagged", "in_domain"}),
        (F.or_(F.env("DEV"), F.platform("snowflake")), {"elsewhere", "for_tests"}),
        (F.not_(F.platform("hive")), {"elsewhere"}),
        (F.entity_type("chart"), set()),
    ],
    ids=["tag", "owner", "domain", "term", "platform", "platforms", "subtype", "env", "and", "or", "not", "type"],
)
def test_a_filter_finds_the_matching_datasets(chosen, expected, client, shelf, unique):
    both = F.and_(F.has_custom_property("shelf", unique), chosen)
    found = {str(urn) for urn in client.search.get_urns(filter=both)}
    assert found == {shelf[name] for name in expected}


def test_words_find_the_datasets_that_contain_them(client, shelf, unique):
    found = {str(urn) for urn in client.search.get_urns(query=f"{unique}.tagged")}
    assert shelf["tagged"] in found
    assert {str(urn) for urn in client.search.get_urns(query="*", filter=F.env("DEV"))} >= {shelf["for_tests"]}


def test_urns_are_found_by_the_older_filters(graph, shelf, unique):
    def found(**filters):
        extra = [{"field": "customProperties", "condition": "EQUAL", "values": [f"shelf={unique}"]}]
        return set(graph.get_urns_by_filter(extraFilters=extra, **filters))

    assert found() == set(shelf.values())
    assert found(platform="snowflake") == {shelf["elsewhere"]}
    assert found(env="DEV") == {shelf["for_tests"]}
    assert found(entity_types=["dataset"], query="*") == set(shelf.values())
    # Paging returns the same as one large page.
    assert found(batch_size=1) == set(shelf.values())
    graph.soft_delete_entity(shelf["tagged"])
    assert found() == set(shelf.values()) - {shelf["tagged"]}
    assert found(status=RemovedStatusFilter.ONLY_SOFT_DELETED) == {shelf["tagged"]}
    assert found(status=RemovedStatusFilter.ALL) == set(shelf.values())


def test_a_urn_is_found_in_another_case(graph, client, unique):
    dataset = Dataset(platform="snowflake", name=f"{unique}.UpperCase")
    client.entities.upsert(dataset)
    lower = make_dataset_urn("snowflake", f"{unique}.uppercase")
    assert graph.get_dataset_urns_ignoring_case(lower) == [str(dataset.urn)]


def test_the_values_of_fields_are_found_with_the_urns(graph, shelf, unique):
    urns = list(graph.list_all_entity_urns("dataset", 0, 1000))
    assert set(shelf.values()) <= set(urns)
    assert graph.get_aspect_counts("datasetProperties", urn_like=f"%{unique}%") == 4


@pytest.fixture
def chain(client, unique):
    """raw -> clean -> report, with columns."""
    columns = [("customer_id", "bigint"), ("total", "decimal")]
    urns = []
    for name in ("raw", "clean", "report"):
        dataset = Dataset(platform="hive", name=f"{unique}.{name}", display_name=name, schema=columns)
        client.entities.upsert(dataset)
        urns.append(str(dataset.urn))
    return urns


def test_lineage_between_datasets_is_added_and_read(client, chain, read):
    raw, clean, report = chain
    client.lineage.add_lineage(upstream=raw, downstream=clean)
    client.lineage.add_lineage(upstream=clean, downstream=report)
    assert [one["dataset"] for one in read(clean, "upstreamLineage")["upstreams"]] == [raw]
    (up,) = client.lineage.get_lineage(source_urn=clean, direction="upstream")
    assert (up.urn, up.hops, up.direction, up.platform) == (raw, 1, "upstream", "hive")
    down = client.lineage.get_lineage(source_urn=raw, direction="downstream", max_hops=3)
    assert {(one.urn, one.hops) for one in down} == {(clean, 1), (report, 2)}
    assert [one.urn for one in client.lineage.get_lineage(source_urn=raw, direction="downstream")] == [clean]
    other = F.platform("snowflake")
    assert client.lineage.get_lineage(source_urn=raw, direction="downstream", max_hops=3, filter=other) == []


def test_lineage_of_columns_is_added_and_read(client, chain, read):
    raw, clean, _ = chain
    client.lineage.add_lineage(upstream=raw, downstream=clean, column_lineage={"total": ["total", "customer_id"]})
    (fine,) = read(clean, "upstreamLineage")["fineGrainedLineages"]
    assert fine["downstreams"] == [make_schema_field_urn(clean, "total")]
    assert set(fine["upstreams"]) == {make_schema_field_urn(raw, "total"), make_schema_field_urn(raw, "customer_id")}
    found = client.lineage.get_lineage(source_urn=clean, source_column="total", direction="upstream")
    assert {path.column_name for one in found for path in one.paths} >= {"total", "customer_id"}


def test_lineage_of_all_columns_with_the_same_name_is_added(client, chain, read):
    raw, clean, _ = chain
    client.lineage.add_lineage(upstream=raw, downstream=clean, column_lineage="auto_strict")
    fine = read(clean, "upstreamLineage")["fineGrainedLineages"]
    pairs = {(one["upstreams"][0], one["downstreams"][0]) for one in fine}
    names = ("customer_id", "total")
    assert pairs == {(make_schema_field_urn(raw, name), make_schema_field_urn(clean, name)) for name in names}


def test_lineage_is_added_with_its_query(client, chain, server, read):
    raw, clean, _ = chain
    text = "INSERT INTO clean SELECT customer_id, total FROM raw"
    client.lineage.add_lineage(upstream=raw, downstream=clean, transformation_text=text)
    (up,) = read(clean, "upstreamLineage")["upstreams"]
    assert (up["dataset"], up["type"]) == (raw, "TRANSFORMED")
    assert read(up["query"], "queryProperties")["statement"]["value"] == text


def test_lineage_is_inferred_from_sql(client, chain, read, unique):
    raw, clean, _ = chain
    query = f"INSERT INTO {unique}.clean SELECT customer_id, total FROM {unique}.raw"
    client.lineage.infer_lineage_from_sql(query_text=query, platform="hive")
    lineage = read(clean, "upstreamLineage")
    assert [one["dataset"] for one in lineage["upstreams"]] == [raw]
    assert len(lineage["fineGrainedLineages"]) == 2


def test_lineage_includes_jobs_charts_and_dashboards(client, chain, read, unique):
    raw, clean, _ = chain
    flow = DataFlow(platform="airflow", name=unique)
    job = DataJob(flow=flow, name="step")
    chart = Chart(platform="looker", name=unique, display_name="Chart")
    board = Dashboard(platform="looker", name=unique, display_name="Board")
    for entity in (flow, job, chart, board):
        client.entities.upsert(entity)
    client.lineage.add_lineage(upstream=raw, downstream=str(job.urn))
    client.lineage.add_lineage(upstream=str(job.urn), downstream=clean)
    client.lineage.add_lineage(upstream=clean, downstream=str(chart.urn))
    client.lineage.add_lineage(upstream=str(chart.urn), downstream=str(board.urn))
    edges = read(job.urn, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in edges["inputDatasetEdges"]] == [raw]
    assert [one["destinationUrn"] for one in edges["outputDatasetEdges"]] == [clean]
    found = client.lineage.get_lineage(source_urn=raw, direction="downstream", max_hops=3)
    assert {(one.urn, one.hops) for one in found} == {
        (str(job.urn), 1),
        (clean, 2),
        (str(chart.urn), 3),
        (str(board.urn), 4),
    }


def _scrolled(scroll, **filters):
    """Scrolls through all relationships, two per page."""
    page = scroll(count=2, **filters)
    found = list(page.relationships)
    while page.scroll_id:
        page = scroll(count=2, scroll_id=page.scroll_id, **filters)
        found += page.relationships
    return found


def test_lineage_is_scrolled(client, graph, chain):
    raw, clean, report = chain
    client.lineage.add_lineage(upstream=raw, downstream=clean)
    client.lineage.add_lineage(upstream=clean, downstream=report)

    def flows(**filters):
        return {(one.upstream_urn, one.downstream_urn) for one in _scrolled(graph.scroll_lineage, **filters)}

    assert flows(urns=[clean]) == {(raw, clean), (clean, report)}
    assert flows(urns=[clean], direction=LineageDirection.UPSTREAM) == {(raw, clean)}
    assert flows(urns=[clean], direction=LineageDirection.DOWNSTREAM) == {(clean, report)}
    assert flows(urns=[raw, clean], relationship_types=["DownstreamOf"]) == {(raw, clean), (clean, report)}
    assert flows() >= {(raw, clean), (clean, report)}


def test_relationships_are_scrolled_without_naming_an_entity(client, graph, chain):
    raw, clean, _ = chain
    client.lineage.add_lineage(upstream=raw, downstream=clean)
    found = _scrolled(graph.scroll_relationships, relationship_types=["DownstreamOf"], source_types=["dataset"])
    assert {one.relationship_type for one in found} == {"DownstreamOf"}
    edges = [(one.source_urn, one.destination_urn) for one in found]
    assert edges.count((clean, raw)) == 1
    assert len(edges) == len(set(edges))
