"""Agents use Docent's own server of the Model Context Protocol, through the protocol's Python client."""

import json

import pytest

import agent_catalog
from agent import OwnAgent, ToolError
from agent_catalog import CHART, DATASET, DOMAIN, GROUP, OTHER_TAG, QUERY, TAG, TERM, UPSTREAM, USER
from running import Server

READS = {"search", "get_entities", "list_schema_fields", "get_lineage", "get_dataset_queries", "get_me"}
CHANGES = {
    *("update_description", "add_tags", "remove_tags", "add_terms", "remove_terms", "add_owners", "remove_owners"),
    *("set_domains", "remove_domains", "add_link", "update_deprecation"),
}
# What an answer has besides what it is about; the client of a language model pays for each byte.
MAX_BYTES = 50_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of these tests alone, with one entity of each type that the tools handle."""
    running = Server(tmp_path_factory.mktemp("agents"))
    agent_catalog.write(running)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def read(server):
    return server.read


@pytest.fixture(scope="module")
def agent(server):
    running = OwnAgent(server.url, server.token)
    yield running
    running.stop()


@pytest.fixture
def session():
    """Opens sessions that end with the test."""
    opened = []

    def open_session(url: str, token: str) -> OwnAgent:
        opened.append(OwnAgent(url, token))
        return opened[-1]

    yield open_session
    for each in opened:
        each.stop()


def _by_urn(answer: dict, name: str = "results") -> dict:
    return {item["urn"]: item for item in answer[name]}


def test_the_server_introduces_itself_and_its_tools(agent):
    assert agent.about.serverInfo.name == "docent"
    assert "search" in agent.about.instructions
    tools = agent.tools()
    assert set(tools) == READS | CHANGES
    for name, tool in tools.items():
        assert tool.annotations.readOnlyHint == (name in READS)
        assert all(argument["description"] for argument in tool.inputSchema["properties"].values())


def test_an_answer_says_where_it_comes_from(agent, server):
    answer = agent.call("search", query="orders")
    assert answer["source"]["catalog"] == server.url
    assert answer["source"]["as_user"] == "urn:li:corpuser:datahub"
    assert answer["source"]["read_at"].endswith("Z")
    found = _by_urn(answer)[DATASET]
    assert found["page"].startswith(f"{server.url}/dataset/urn:li:dataset:")
    assert found["description"] == "orders of the agent"
    assert found["description_source"] == "imported from the source system"
    agent.call("update_description", urn=UPSTREAM, description="written by hand")
    (entity,) = agent.call("get_entities", urns=[UPSTREAM])["entities"]
    assert entity["description"] == "written by hand"
    assert entity["description_source"] == "edited in the catalog"


def test_search_filters_and_pages(agent):
    found = _by_urn(agent.call("search", query="*", types=["dataset"], platforms=["hive"], count=50))
    assert {DATASET, UPSTREAM} <= set(found) and CHART not in found
    assert found[DATASET]["name"] == "agent.orders" and found[DATASET]["platform"]
    first = agent.call("search", query="agent", count=1)
    assert first["total"] > 1 and first["next_start"] == 1
    second = agent.call("search", query="agent", count=1, start=first["next_start"])
    assert second["results"][0]["urn"] != first["results"][0]["urn"]
    assert agent.call("search", query="nothingislikethis")["results"] == []


def test_get_entities_shows_each_type_and_names_missing_ones(agent):
    missing = "urn:li:dataset:(urn:li:dataPlatform:hive,agent.none,PROD)"
    urns = [DATASET, CHART, TAG, TERM, DOMAIN, USER, GROUP, missing]
    answer = agent.call("get_entities", urns=urns)
    names = {urn: entity["name"] for urn, entity in _by_urn(answer, "entities").items()}
    assert names == {
        DATASET: "agent.orders",
        CHART: "Agent chart",
        TAG: "Agent PII",
        TERM: "Agent person",
        DOMAIN: "Agent domain",
        USER: "Agent user",
        GROUP: "Agent group",
    }
    assert answer["not_found"] == [missing]
    dataset = _by_urn(answer, "entities")[DATASET]
    assert dataset["custom_properties"] == {"a": "b"} and dataset["column_count"] == 3


def test_columns_are_listed_and_found(agent):
    answer = agent.call("list_schema_fields", urn=DATASET)
    assert [column["path"] for column in answer["columns"]] == ["id", "email", "note"]
    assert answer["columns"][0]["type"] == "varchar(10)" and answer["columns"][0]["nullable"] is False
    (email,) = agent.call("list_schema_fields", urn=DATASET, keywords=["ADDRESS"])["columns"]
    assert email["path"] == "email"
    with pytest.raises(ToolError, match="does not exist"):
        agent.call("list_schema_fields", urn="urn:li:dataset:(urn:li:dataPlatform:hive,agent.none,PROD)")


def test_lineage_follows_tables_and_columns(agent):
    upstream = agent.call("get_lineage", urn=DATASET, direction="upstream")
    assert _by_urn(upstream)[UPSTREAM]["hops"] == 1
    downstream = _by_urn(agent.call("get_lineage", urn=UPSTREAM, direction="downstream"))
    assert downstream[CHART]["path"] == [UPSTREAM, DATASET, CHART]
    near = _by_urn(agent.call("get_lineage", urn=UPSTREAM, direction="downstream", max_hops=1))
    assert DATASET in near and CHART not in near
    (origin,) = agent.call("get_lineage", urn=DATASET, column="email", direction="upstream")["results"]
    assert origin["urn"] == UPSTREAM and origin["columns"] == ["email"]
    with pytest.raises(ToolError, match="does not exist"):
        agent.call("get_lineage", urn=DATASET.replace("orders", "none"), direction="upstream")


def test_queries_show_their_sql(agent):
    answer = agent.call("get_dataset_queries", urn=DATASET)
    (query,) = answer["queries"]
    assert query["urn"] == QUERY and query["sql"] == "select id from orders"
    assert query["query_source"] == "saved by a person"


def test_changes_are_made_and_read_back(agent, read):
    column = {"urn": DATASET, "column": "email"}
    assert agent.call("add_tags", tag_urns=[TAG], targets=[{"urn": DATASET}, column])["outcome"] == "applied"
    agent.call("add_tags", tag_urns=[OTHER_TAG], targets=[{"urn": DATASET}])
    agent.call("remove_tags", tag_urns=[OTHER_TAG], targets=[{"urn": DATASET}])
    agent.call("add_terms", term_urns=[TERM], targets=[{"urn": DATASET}])
    agent.call("set_domains", domain_urn=DOMAIN, urns=[DATASET])
    agent.call("add_owners", owner_urns=[USER, GROUP], urns=[DATASET])
    agent.call("add_link", urn=DATASET, url="https://example.com/orders", label="Orders")
    agent.call("update_deprecation", urn=DATASET, deprecated=True, note="Use raw", replacement_urn=UPSTREAM)
    agent.call("update_description", urn=DATASET, column="email", description="Where to write")
    (entity,) = agent.call("get_entities", urns=[DATASET])["entities"]
    assert [tag["urn"] for tag in entity["tags"]] == [TAG]
    assert [term["urn"] for term in entity["glossary_terms"]] == [TERM]
    assert entity["domain"] == {"urn": DOMAIN, "name": "Agent domain"}
    assert {owner["urn"] for owner in entity["owners"]} == {USER, GROUP}
    assert entity["links"] == [{"url": "https://example.com/orders", "label": "Orders"}]
    assert entity["deprecated"]["note"] == "Use raw" and entity["deprecated"]["replacement"]["urn"] == UPSTREAM
    (email,) = agent.call("list_schema_fields", urn=DATASET, keywords=["email"])["columns"]
    assert email["description"] == "Where to write" and email["tags"][0]["urn"] == TAG
    agent.call("remove_domains", urns=[DATASET])
    agent.call("remove_owners", owner_urns=[USER], urns=[DATASET])
    agent.call("remove_terms", term_urns=[TERM], targets=[{"urn": DATASET}])
    agent.call("update_deprecation", urn=DATASET, deprecated=False)
    (entity,) = agent.call("get_entities", urns=[DATASET])["entities"]
    assert not {"domain", "glossary_terms", "deprecated"} & set(entity)
    assert [owner["urn"] for owner in entity["owners"]] == [GROUP]
    assert read(DATASET, "globalTags")["tags"][0]["tag"] == TAG


def test_a_change_made_meanwhile_is_not_lost(agent):
    agent.call("update_description", urn=CHART, description="first")
    with pytest.raises(ToolError, match="(?i)changed"):
        agent.call("update_description", urn=CHART, description="mine", previous="what I read before")
    (entity,) = agent.call("get_entities", urns=[CHART])["entities"]
    assert entity["description"] == "first"


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("search", {}, "query"),
        ("search", {"query": "x", "limit": 3}, "limit"),
        ("search", {"query": "x", "types": ["TABLE"]}, "TABLE"),
        ("get_entities", {"urns": []}, "1 to 20"),
        ("get_entities", {"urns": ["nonsense"]}, "nonsense"),
        ("get_lineage", {"urn": DATASET, "direction": "sideways"}, "upstream"),
        ("get_lineage", {"urn": DATASET, "direction": "upstream", "max_hops": 7}, "1 or 2"),
        ("add_tags", {"tag_urns": ["urn:li:tag:none"], "targets": [{"urn": DATASET}]}, "urn:li:tag:none"),
        ("set_domains", {"domain_urn": "urn:li:domain:none", "urns": [DATASET]}, "urn:li:domain:none"),
    ],
)
def test_wrong_arguments_are_explained(agent, tool, arguments, says):
    with pytest.raises(ToolError, match=says):
        agent.call(tool, **arguments)


def test_a_tool_that_does_not_exist_names_those_that_do(agent):
    with pytest.raises(Exception, match="there is no tool 'find'; the tools are search"):
        agent.call("find", query="x")


def test_answers_are_bounded(agent, server):
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,agent.wide,PROD)"
    dataset = agent_catalog.ENTITIES[1] | {"urn": urn}
    dataset["datasetProperties"] = {"name": "wide", "description": "long " * 20_000}
    fields = [
        dataset["schemaMetadata"]["fields"][0] | {"fieldPath": f"column_{index}", "description": "text " * 300}
        for index in range(300)
    ]
    dataset["schemaMetadata"] = dataset["schemaMetadata"] | {"fields": fields}
    body = [{name: value if name == "urn" else {"value": value} for name, value in dataset.items()}]
    assert server.request("POST", "/openapi/v3/entity/dataset?async=false", body).status == 200
    (entity,) = agent.call("get_entities", urns=[urn])["entities"]
    assert "cut: 8000 of 100000 characters" in entity["description"]
    seen, start = [], 0
    while start is not None:
        answer = agent.call("list_schema_fields", urn=urn, start=start, count=200)
        assert len(json.dumps(answer, ensure_ascii=False)) < MAX_BYTES
        seen += [column["path"] for column in answer["columns"]]
        start = answer.get("next_start")
    assert seen == [f"column_{index}" for index in range(300)]


def test_every_requested_entity_can_be_read(agent, server):
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,agent.long{index},PROD)" for index in range(20)]
    properties = {"description": "long " * 2_000, "customProperties": {f"p{it}": "text " * 2_000 for it in range(9)}}
    body = [{"urn": urn, "datasetProperties": {"value": properties}} for urn in urns]
    assert server.request("POST", "/openapi/v3/entity/dataset?async=false", body).status == 200
    seen, left = [], urns
    while left:
        answer = agent.call("get_entities", urns=left)
        assert len(json.dumps(answer, ensure_ascii=False)) < MAX_BYTES + 4096
        for entity in answer["entities"]:
            assert len(entity["custom_properties"]) == 9 and "cut: " in entity["description"]
            seen.append(entity["urn"])
        left = answer.get("not_shown", [])
    assert seen == urns


def test_only_callers_with_a_token_get_an_answer(server):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    reply = server.request("POST", "/mcp", body, headers={"Authorization": "Bearer none"})
    assert reply.status == 401 and "token" in reply.json()["message"]
    assert server.request("GET", "/mcp").status == 405


def test_what_is_no_message_of_the_protocol_is_explained(server):
    for body in (b"nonsense", {"query": "{ me { corpUser { urn } } }"}):
        reply = server.request("POST", "/mcp", body)
        assert reply.status == 400 and reply.json()["message"], reply.text
    long = server.request("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "x" * 1_100_000})
    assert long.status == 413 and "1048576" in long.json()["message"]


def test_the_rights_and_the_scope_of_the_token_apply(agent, server, session):
    token = server.docent(
        *("token", "create", "--store", server.store, "--user", "datahub", "--name", "agent"),
        *("--scope", "read-only"),
    ).strip()
    reader = session(server.url, token)
    assert reader.call("search", query="orders")["total"] > 0
    assert set(reader.tools()) == READS
    assert reader.call("get_me")["changes"].startswith("refused")
    with pytest.raises(ToolError, match="scope"):
        reader.call("update_description", urn=UPSTREAM, description="not allowed")


def test_an_agent_that_only_proposes_changes_nothing(tmp_path, session):
    running = Server(tmp_path, "--agent-writes", "propose")
    try:
        agent_catalog.write(running)
        agent = session(running.url, running.token)
        assert agent.call("get_me")["changes"].startswith("proposed")
        answer = agent.call("update_description", urn=DATASET, description="proposed text")
        assert answer["outcome"].startswith("proposed")
        (entity,) = agent.call("get_entities", urns=[DATASET])["entities"]
        assert entity["description"] == "orders of the agent"
        accept = {"query": "mutation($urns: [String!]!) { acceptProposals(proposalUrns: $urns) }"}
        accept["variables"] = {"urns": answer["proposals"]}
        reply = running.request("POST", "/api/graphql", accept).json()
        assert "errors" not in reply, reply
        (entity,) = agent.call("get_entities", urns=[DATASET])["entities"]
        assert entity["description"] == "proposed text"
    finally:
        running.stop()


def test_agents_may_be_limited_to_reading(tmp_path, session):
    running = Server(tmp_path, "--agent-writes", "off")
    try:
        agent_catalog.write(running)
        agent = session(running.url, running.token)
        assert set(agent.tools()) == READS
        with pytest.raises(ToolError, match="--agent-writes"):
            agent.call("update_description", urn=DATASET, description="not allowed")
    finally:
        running.stop()
