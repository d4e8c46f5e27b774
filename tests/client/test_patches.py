"""The client's patch builders, over both write APIs: parts of aspects change, and the rest stays."""

import threading

import pytest
from datahub.emitter.mce_builder import make_dataset_urn, make_schema_field_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    DocumentationAssociationClass,
    DomainAssociationClass,
    FineGrainedLineageClass,
    GlossaryTermAssociationClass,
    InstitutionalMemoryMetadataClass,
    AuditStampClass,
    MetadataAttributionClass,
    OwnerClass,
    StructuredPropertyDefinitionClass,
    TagAssociationClass,
    UpstreamClass,
)
from datahub.sdk import DataHubClient
from datahub.specific.chart import ChartPatchBuilder
from datahub.specific.dashboard import DashboardPatchBuilder
from datahub.specific.dataproduct import DataProductPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder

from examples import schema

STAMP = AuditStampClass(time=1794701076063, actor="urn:li:corpuser:alice")


@pytest.fixture
def dataset(graph, unique):
    urn = make_dataset_urn("hive", unique)
    properties = DatasetPropertiesClass(description="Stays", customProperties={"stays": "yes", "goes": "soon"})
    for aspect in (properties, schema(unique, "user_id", "address.street")):
        graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect))
    return urn


@pytest.fixture
def patch(graph, dataset):
    """`patch(change)` builds a patch of the dataset and sends it."""

    def send(change):
        builder = DatasetPatchBuilder(dataset)
        change(builder)
        for proposal in builder.build():
            graph.emit(proposal)

    return send


def _tags(read, urn):
    return [one["tag"] for one in read(urn, "globalTags")["tags"]]


def test_tags_are_added_and_removed_one_by_one(patch, read, dataset):
    first, second = TagAssociationClass("urn:li:tag:one"), TagAssociationClass("urn:li:tag:two")
    patch(lambda builder: builder.add_tag(first).add_tag(second))
    assert sorted(_tags(read, dataset)) == ["urn:li:tag:one", "urn:li:tag:two"]
    patch(lambda builder: builder.add_tag(TagAssociationClass("urn:li:tag:one")))
    assert sorted(_tags(read, dataset)) == ["urn:li:tag:one", "urn:li:tag:two"]
    patch(lambda builder: builder.remove_tag("urn:li:tag:one"))
    assert _tags(read, dataset) == ["urn:li:tag:two"]
    patch(lambda builder: builder.remove_tag("urn:li:tag:never"))
    assert _tags(read, dataset) == ["urn:li:tag:two"]


def test_the_same_tag_from_two_sources_is_stored_twice(patch, read, dataset):
    said = MetadataAttributionClass(time=1, actor="urn:li:corpuser:alice", source="urn:li:dataHubAction:a")
    patch(lambda builder: builder.add_tag(TagAssociationClass("urn:li:tag:one")))
    patch(lambda builder: builder.add_tag(TagAssociationClass("urn:li:tag:one", attribution=said)))
    assert _tags(read, dataset) == ["urn:li:tag:one"] * 2
    patch(lambda builder: builder.remove_tag("urn:li:tag:one", attribution_source="urn:li:dataHubAction:a"))
    (left,) = read(dataset, "globalTags")["tags"]
    assert left.get("attribution") is None
    patch(lambda builder: builder.add_tag(TagAssociationClass("urn:li:tag:one", attribution=said)))
    patch(lambda builder: builder.remove_tag("urn:li:tag:one"))
    assert _tags(read, dataset) == []


def test_terms_are_added_and_removed(patch, read, dataset):
    first, second = (GlossaryTermAssociationClass(f"urn:li:glossaryTerm:{name}") for name in ("one", "two"))
    patch(lambda builder: builder.add_term(first).add_term(second))
    patch(lambda builder: builder.remove_term("urn:li:glossaryTerm:one"))
    terms = read(dataset, "glossaryTerms")
    assert [one["urn"] for one in terms["terms"]] == ["urn:li:glossaryTerm:two"]
    assert terms["auditStamp"]["actor"].startswith("urn:li:corpuser:")


def test_owners_are_added_and_removed_by_type(patch, read, dataset):
    def owners():
        return sorted((one["owner"][-5:], one["type"]) for one in read(dataset, "ownership")["owners"])

    for kind in ("DATAOWNER", "TECHNICAL_OWNER"):
        patch(lambda builder: builder.add_owner(OwnerClass(owner="urn:li:corpuser:alice", type=kind)))
    patch(lambda builder: builder.add_owner(OwnerClass(owner="urn:li:corpuser:zelda", type="DATAOWNER")))
    assert owners() == [("alice", "DATAOWNER"), ("alice", "TECHNICAL_OWNER"), ("zelda", "DATAOWNER")]
    patch(lambda builder: builder.remove_owner("urn:li:corpuser:alice", owner_type="DATAOWNER"))
    assert owners() == [("alice", "TECHNICAL_OWNER"), ("zelda", "DATAOWNER")]
    patch(lambda builder: builder.add_owner(OwnerClass(owner="urn:li:corpuser:zelda", type="NONE")))
    patch(lambda builder: builder.remove_owner("urn:li:corpuser:zelda"))
    assert owners() == [("alice", "TECHNICAL_OWNER")]
    patch(lambda builder: builder.set_owners([OwnerClass(owner="urn:li:corpuser:other", type="NONE")]))
    assert owners() == [("other", "NONE")]


def test_properties_change_one_by_one(patch, read, dataset):
    patch(lambda builder: builder.add_custom_property("with/slash~tilde", "ünï").remove_custom_property("goes"))
    patch(lambda builder: builder.set_display_name("Name").set_qualified_name("a.b").set_external_url("https://example.com"))
    stored = read(dataset, "datasetProperties")
    assert stored["customProperties"] == {"stays": "yes", "with/slash~tilde": "ünï"}
    assert (stored["description"], stored["name"], stored["qualifiedName"]) == ("Stays", "Name", "a.b")
    patch(lambda builder: builder.set_description("Changed"))
    patch(lambda builder: builder.set_description("A person's words", editable=True))
    assert read(dataset, "datasetProperties")["description"] == "Changed"
    assert read(dataset, "editableDatasetProperties")["description"] == "A person's words"
    patch(lambda builder: builder.set_custom_properties({"only": "this"}))
    assert read(dataset, "datasetProperties")["customProperties"] == {"only": "this"}


def test_columns_get_tags_and_terms(patch, read, dataset):
    tag, term = TagAssociationClass("urn:li:tag:one"), GlossaryTermAssociationClass("urn:li:glossaryTerm:one")

    def columns():
        return {one["fieldPath"]: one for one in read(dataset, "editableSchemaMetadata")["editableSchemaFieldInfo"]}

    patch(lambda builder: builder.for_field("user_id").add_tag(tag).add_term(term))
    patch(lambda builder: builder.for_field("address.street").add_tag(tag))
    assert [one["tag"] for one in columns()["user_id"]["globalTags"]["tags"]] == ["urn:li:tag:one"]
    assert [one["urn"] for one in columns()["user_id"]["glossaryTerms"]["terms"]] == ["urn:li:glossaryTerm:one"]
    patch(lambda builder: builder.for_field("user_id").remove_tag("urn:li:tag:one").remove_term("urn:li:glossaryTerm:one"))
    assert columns()["user_id"]["globalTags"]["tags"] == []
    assert [one["tag"] for one in columns()["address.street"]["globalTags"]["tags"]] == ["urn:li:tag:one"]


def test_upstreams_are_added_and_removed(patch, read, dataset):
    first, second = (make_dataset_urn("hive", name) for name in ("up.one", "up.two"))
    patch(lambda builder: builder.add_upstream_lineage(UpstreamClass(dataset=first, type="TRANSFORMED")))
    patch(lambda builder: builder.add_upstream_lineage(UpstreamClass(dataset=second, type="COPY")))
    patch(lambda builder: builder.add_upstream_lineage(UpstreamClass(dataset=first, type="VIEW")))
    kinds = {one["dataset"]: one["type"] for one in read(dataset, "upstreamLineage")["upstreams"]}
    assert kinds == {first: "VIEW", second: "COPY"}
    patch(lambda builder: builder.remove_upstream_lineage(first))
    assert [one["dataset"] for one in read(dataset, "upstreamLineage")["upstreams"]] == [second]


def test_lineage_of_columns_is_added_and_removed(patch, read, dataset):
    upstream = make_dataset_urn("hive", "up")

    def fine(*columns, score):
        return FineGrainedLineageClass(
            upstreamType="FIELD_SET",
            downstreamType="FIELD",
            upstreams=[make_schema_field_urn(upstream, column) for column in columns],
            downstreams=[make_schema_field_urn(dataset, "user_id")],
            transformOperation="SUM",
            confidenceScore=score,
        )

    patch(lambda builder: builder.add_fine_grained_lineage(fine("a", "b", score=0.9)))
    (stored,) = read(dataset, "upstreamLineage")["fineGrainedLineages"]
    assert set(stored["upstreams"]) == {make_schema_field_urn(upstream, "a"), make_schema_field_urn(upstream, "b")}
    assert stored["downstreams"] == [make_schema_field_urn(dataset, "user_id")]
    assert (stored["transformOperation"], stored["confidenceScore"]) == ("SUM", 0.9)
    patch(lambda builder: builder.remove_fine_grained_lineage(fine("a", score=0.9)))
    (stored,) = read(dataset, "upstreamLineage")["fineGrainedLineages"]
    assert stored["upstreams"] == [make_schema_field_urn(upstream, "b")]


def test_structured_properties_are_set_and_removed(graph, patch, read, dataset, unique):
    for name in ("days", "words"):
        kind = "urn:li:dataType:datahub.number" if name == "days" else "urn:li:dataType:datahub.string"
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=f"{unique}.{name}",
            valueType=kind,
            entityTypes=["urn:li:entityType:datahub.dataset"],
            cardinality="MULTIPLE",
        )
        urn = f"urn:li:structuredProperty:{unique}.{name}"
        graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=definition))
    patch(lambda builder: builder.set_structured_property(f"{unique}.days", 30.0))
    patch(lambda builder: builder.set_structured_property(f"{unique}.words", ["a", "b"]))

    def assigned():
        found = {}
        for one in read(dataset, "structuredProperties")["properties"]:
            found[one["propertyUrn"].rsplit(".", 1)[1]] = [next(iter(value.values())) for value in one["values"]]
        return found

    assert assigned() == {"days": [30.0], "words": ["a", "b"]}
    patch(lambda builder: builder.set_structured_property(f"{unique}.days", 365.0))
    patch(lambda builder: builder.remove_structured_property(f"{unique}.words"))
    assert assigned() == {"days": [365.0]}


def test_a_domain_is_added_and_removed(graph, patch, read, dataset):
    patch(lambda builder: builder.add_domain(DomainAssociationClass(domain="urn:li:domain:patched")))
    assert read(dataset, "domains")["domains"] == ["urn:li:domain:patched"]
    assert str(DataHubClient(graph=graph).entities.get(dataset).domain) == "urn:li:domain:patched"
    patch(lambda builder: builder.remove_domain("urn:li:domain:patched"))
    assert read(dataset, "domains")["domains"] == []


def test_documentation_and_siblings_are_added(patch, read, dataset):
    sibling = make_dataset_urn("dbt", "sibling")
    patch(lambda builder: builder.add_documentation(DocumentationAssociationClass(documentation="Words")))
    patch(lambda builder: builder.add_sibling(sibling, primary=True))
    assert [one["documentation"] for one in read(dataset, "documentation")["documentations"]] == ["Words"]
    assert read(dataset, "siblings") == {"siblings": [sibling], "primary": True}


def test_a_data_product_gets_assets_and_links(graph, read, unique):
    urn, asset = f"urn:li:dataProduct:{unique}", make_dataset_urn("hive", "asset")
    link = InstitutionalMemoryMetadataClass(url="https://wiki.example.com/a?b=1", description="Wiki", createStamp=STAMP)
    builder = DataProductPatchBuilder(urn).set_name("Product").add_asset(asset).add_institutional_memory(link)
    for proposal in builder.build():
        graph.emit(proposal)
    stored = read(urn, "dataProductProperties")
    assert (stored["name"], [one["destinationUrn"] for one in stored["assets"]]) == ("Product", [asset])
    assert [one["url"] for one in read(urn, "institutionalMemory")["elements"]] == ["https://wiki.example.com/a?b=1"]
    for proposal in DataProductPatchBuilder(urn).remove_asset(asset).build():
        graph.emit(proposal)
    assert read(urn, "dataProductProperties")["assets"] == []


def test_charts_and_dashboards_get_their_inputs(graph, read, unique):
    chart, board = f"urn:li:chart:(looker,{unique})", f"urn:li:dashboard:(looker,{unique})"
    asset = make_dataset_urn("hive", "asset")
    chart_patch = ChartPatchBuilder(chart).set_title("Title").set_description("Bars").add_input_edge(asset)
    board_patch = DashboardPatchBuilder(board).set_title("Title").add_dataset_edge(asset).add_chart_edge(chart)
    for proposal in [*chart_patch.build(), *board_patch.build()]:
        graph.emit(proposal)
    assert [one["destinationUrn"] for one in read(chart, "chartInfo")["inputEdges"]] == [asset]
    assert read(chart, "chartInfo")["title"] == "Title"
    assert [one["destinationUrn"] for one in read(board, "dashboardInfo")["chartEdges"]] == [chart]
    assert [one["destinationUrn"] for one in read(board, "dashboardInfo")["datasetEdges"]] == [asset]


def test_concurrent_patches_lose_nothing(graph, read, dataset):
    clients, each = 4, 25
    failures = []

    def add(client):
        try:
            for number in range(each):
                tag = TagAssociationClass(f"urn:li:tag:{client}_{number}")
                for proposal in DatasetPatchBuilder(dataset).add_tag(tag).build():
                    graph.emit(proposal)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=add, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(_tags(read, dataset))) == clients * each


def test_an_invalid_patch_is_rejected(graph, server, read, dataset):
    before = read(dataset, "datasetProperties")
    with pytest.raises(Exception, match="(?i)description"):
        builder = DatasetPatchBuilder(dataset)
        builder._add_patch("datasetProperties", "add", path=("description",), value={"not": "a text"})
        for proposal in builder.build():
            graph.emit(proposal)
    assert read(dataset, "datasetProperties") == before
