"""DataHub's agent server works with Docent: every tool is called, and its writes are read back."""

import json

import pytest

import agent_catalog
from agent import Agent, ToolError
from agent_catalog import (
    ASSERTION,
    CHART,
    DATASET,
    DOCUMENT,
    DOMAIN,
    GROUP,
    OTHER_TAG,
    PLATFORM,
    PROPERTY,
    QUERY,
    TAG,
    TERM,
    UPSTREAM,
    USER,
)

# The tools for a server other than DataHub Cloud, with everything enabled; each is called below.
TOOLS = {
    *("search", "get_entities", "list_schema_fields", "get_lineage", "get_lineage_paths_between", "get_dataset_queries"),
    *("get_aspect_history", "get_me", "search_documents", "grep_documents", "save_document"),
    *("update_description", "set_domains", "remove_domains", "add_tags", "remove_tags", "add_terms", "remove_terms"),
    *("add_owners", "remove_owners", "add_structured_properties", "remove_structured_properties"),
}


@pytest.fixture(scope="module")
def agent(server, tmp_path_factory):
    """The agent server on a catalog with one entity of each type that its tools handle."""
    agent_catalog.write(server)
    running = Agent(server.url, server.token, tmp_path_factory.mktemp("agent"))
    yield running
    running.stop()


def _tags(read, urn: str) -> list:
    return [tag["tag"] for tag in read(urn, "globalTags")["tags"]]


def _columns(read, urn: str) -> dict:
    return {field["fieldPath"]: field for field in read(urn, "editableSchemaMetadata")["editableSchemaFieldInfo"]}


def test_the_server_offers_exactly_the_tools_tested_here(agent):
    assert agent.about.serverInfo.name
    assert set(agent.tools()) == TOOLS


def test_search_finds_by_words_and_by_filters_and_counts(agent):
    assert DATASET in json.dumps(agent.call("search", query="orders"))
    found = agent.call("search", query="*", filter="platform = hive AND env = PROD")
    assert DATASET in json.dumps(found) and CHART not in json.dumps(found)
    counted = agent.call("search", query="*", filter="entity_type = dataset", num_results=0)
    assert counted["total"] >= 2 and counted["facets"]
    assert agent.call("search", query="nothingislikethis")["total"] == 0


@pytest.mark.parametrize(
    ("urn", "says"),
    [
        (DATASET, "the address"),
        (CHART, "orders over time"),
        (QUERY, "select id from orders"),
        (ASSERTION, "GREATER_THAN"),
        (TAG, "Agent PII"),
        (TERM, "A person"),
        (DOMAIN, "Agent domain"),
        (USER, "agent@example.com"),
        (GROUP, "Agent group"),
        # It requests more about a document only from DataHub Cloud; the text is read below.
        (DOCUMENT, DOCUMENT),
        (PROPERTY, "agent.retention"),
    ],
    ids=lambda value: value.split(":")[2] if value.startswith("urn:li:") else "",
)
def test_get_entities_shows_every_kind_of_entity(agent, urn, says):
    (entity,) = agent.call("get_entities", urns=[urn])
    assert entity["urn"] == urn and "error" not in entity
    assert says in json.dumps(entity)


def test_get_entities_reports_missing_entities(agent):
    there, missing = agent.call("get_entities", urns=[DATASET, f"urn:li:dataset:({PLATFORM},agent.none,PROD)"])
    assert there["urn"] == DATASET and "not found" in missing["error"]


def test_columns_are_listed_and_searched(agent):
    listed = agent.call("list_schema_fields", urn=DATASET)
    assert listed["totalFields"] == 3
    searched = agent.call("list_schema_fields", urn=DATASET, keywords=["email"])
    assert searched["fields"][0]["fieldPath"] == "email"


def test_lineage_is_followed_up_down_and_by_column_and_may_be_empty(agent):
    assert UPSTREAM in json.dumps(agent.call("get_lineage", urn=DATASET, upstream=True))
    assert CHART in json.dumps(agent.call("get_lineage", urn=DATASET, upstream=False))
    assert UPSTREAM in json.dumps(agent.call("get_lineage", urn=DATASET, column="email", upstream=True))
    assert agent.call("get_lineage", urn=UPSTREAM, upstream=True)["upstreams"]["total"] == 0
    assert agent.call("get_lineage_paths_between", source_urn=UPSTREAM, target_urn=DATASET)["paths"]


def test_queries_of_a_dataset_are_found(agent):
    for more in ({}, {"source": "MANUAL"}, {"column": "id"}):
        queries = agent.call("get_dataset_queries", urn=DATASET, **more)
        assert queries["total"] == 1 and "select id from orders" in json.dumps(queries), more
    assert agent.call("get_dataset_queries", urn=UPSTREAM)["total"] == 0
    assert agent.call("get_dataset_queries", urn=DATASET, source="SYSTEM")["total"] == 0


def test_the_user_is_known_and_documents_are_read_and_saved(agent, read):
    assert "urn:li:corpuser:datahub" in json.dumps(agent.call("get_me"))
    assert DOCUMENT in json.dumps(agent.call("search_documents", query="runbook"))
    assert "orders" in json.dumps(agent.call("grep_documents", urns=[DOCUMENT], pattern="pipeline"))
    saved = agent.call("save_document", document_type="Insight", title="Agent insight", content="orders are late on Mondays")
    assert saved["success"], saved
    info = read(saved["urn"], "documentInfo")
    assert (info["title"], info["contents"]["text"]) == ("Agent insight", "orders are late on Mondays")


def test_descriptions_are_written_and_their_history_is_read(agent, read):
    agent.call("update_description", entity_urn=DATASET, operation="replace", description="by the agent")
    agent.call("update_description", entity_urn=DATASET, operation="append", description=", twice")
    assert read(DATASET, "editableDatasetProperties")["description"] == "by the agent, twice"
    assert read(DATASET, "datasetProperties")["description"] == "orders of the agent"
    agent.call("update_description", entity_urn=DATASET, column_path="note", operation="replace", description="a column")
    assert _columns(read, DATASET)["note"]["description"] == "a column"

    (pair,) = agent.call("get_aspect_history", urns=[DATASET], aspect_names=["editableDatasetProperties"])["results"]
    assert pair["error"] is None
    assert pair["current"]["value"]["description"] == "by the agent, twice"
    assert [version["value"]["description"] for version in pair["history"]] == ["by the agent"]

    agent.call("update_description", entity_urn=DATASET, operation="remove")
    assert not read(DATASET, "editableDatasetProperties").get("description")


def test_domains_are_set_and_removed(agent, read):
    agent.call("set_domains", domain_urn=DOMAIN, entity_urns=[DATASET, CHART])
    assert read(DATASET, "domains")["domains"] == read(CHART, "domains")["domains"] == [DOMAIN]
    agent.call("remove_domains", entity_urns=[DATASET])
    assert read(DATASET, "domains")["domains"] == [] and read(CHART, "domains")["domains"] == [DOMAIN]


def test_tags_and_terms_are_added_to_and_removed_from_entities_and_columns(agent, read):
    agent.call("add_tags", tag_urns=[TAG, OTHER_TAG], entity_urns=[DATASET, CHART])
    assert _tags(read, DATASET) == _tags(read, CHART) == [TAG, OTHER_TAG]
    agent.call("remove_tags", tag_urns=[OTHER_TAG], entity_urns=[DATASET, CHART])
    assert _tags(read, DATASET) == _tags(read, CHART) == [TAG]
    agent.call("add_terms", term_urns=[TERM], entity_urns=[DATASET, DATASET], column_paths=[None, "id"])
    assert [term["urn"] for term in read(DATASET, "glossaryTerms")["terms"]] == [TERM]
    agent.call("add_tags", tag_urns=[TAG], entity_urns=[DATASET], column_paths=["email"])
    columns = _columns(read, DATASET)
    assert [tag["tag"] for tag in columns["email"]["globalTags"]["tags"]] == [TAG]
    assert [term["urn"] for term in columns["id"]["glossaryTerms"]["terms"]] == [TERM]
    agent.call("remove_terms", term_urns=[TERM], entity_urns=[DATASET])
    assert read(DATASET, "glossaryTerms")["terms"] == []
    assert [term["urn"] for term in _columns(read, DATASET)["id"]["glossaryTerms"]["terms"]] == [TERM]


def test_owners_are_added_by_kind_and_removed(agent, read):
    def owners():
        return [(owner["owner"], owner["type"]) for owner in read(DATASET, "ownership")["owners"]]

    agent.call("add_owners", owner_urns=[USER, GROUP], entity_urns=[DATASET], ownership_type="TECHNICAL_OWNER")
    agent.call("add_owners", owner_urns=[USER], entity_urns=[DATASET], ownership_type="Business Owner")
    assert owners() == [(USER, "TECHNICAL_OWNER"), (GROUP, "TECHNICAL_OWNER"), (USER, "BUSINESS_OWNER")]
    agent.call("remove_owners", owner_urns=[USER], entity_urns=[DATASET], ownership_type="TECHNICAL_OWNER")
    agent.call("remove_owners", owner_urns=[GROUP], entity_urns=[DATASET])
    assert owners() == [(USER, "BUSINESS_OWNER")]


def test_structured_properties_are_validated_set_and_removed(agent, read):
    agent.call("add_structured_properties", property_values={PROPERTY: [30]}, entity_urns=[DATASET])
    (assigned,) = read(DATASET, "structuredProperties")["properties"]
    assert (assigned["propertyUrn"], assigned["values"]) == (PROPERTY, [{"double": 30.0}])
    with pytest.raises(ToolError):
        agent.call("add_structured_properties", property_values={PROPERTY: [31]}, entity_urns=[DATASET])
    agent.call("remove_structured_properties", property_urns=[PROPERTY], entity_urns=[DATASET])
    assert read(DATASET, "structuredProperties")["properties"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("add_tags", {"tag_urns": ["urn:li:tag:agent-none"], "entity_urns": [UPSTREAM]}),
        ("add_tags", {"tag_urns": [TAG], "entity_urns": [UPSTREAM, DATASET.replace("orders", "none")]}),
        ("add_terms", {"term_urns": [TAG], "entity_urns": [UPSTREAM]}),
        ("add_owners", {"owner_urns": ["urn:li:corpuser:agent-none"], "entity_urns": [UPSTREAM], "ownership_type": "TECHNICAL_OWNER"}),
        ("set_domains", {"domain_urn": "urn:li:domain:agent-none", "entity_urns": [UPSTREAM]}),
        ("update_description", {"entity_urn": UPSTREAM, "column_path": "nowhere", "operation": "replace", "description": "x"}),
    ],
    ids=["no_such_tag", "no_such_entity", "a_tag_as_term", "no_such_owner", "no_such_domain", "no_such_column"],
)
def test_invalid_input_is_rejected_and_nothing_is_written(agent, read, tool, arguments):
    with pytest.raises(ToolError):
        agent.call(tool, **arguments)
    for aspect in ("globalTags", "glossaryTerms", "ownership", "domains", "editableDatasetProperties", "editableSchemaMetadata"):
        assert read(UPSTREAM, aspect) is None, aspect
