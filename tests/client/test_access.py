"""DataHub's SDK, command line and agent server as a Reader, an Editor and the steward of a domain: they do what their
policies allow, and are told which privilege they lack."""

import json
from pathlib import Path

import pytest
from datahub.configuration.common import GraphError, OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from datahub.metadata.schema_classes import (
    DataHubPolicyInfoClass,
    DatasetPropertiesClass,
    DomainPropertiesClass,
    DomainsClass,
    EditableDatasetPropertiesClass,
    TagPropertiesClass,
)

from agent import Agent, ToolError
from running import Server

FINANCE, HR = "urn:li:domain:access-finance", "urn:li:domain:access-hr"
LEDGER = "urn:li:dataset:(urn:li:dataPlatform:hive,access.ledger,PROD)"
SALARIES = "urn:li:dataset:(urn:li:dataPlatform:hive,access.salaries,PROD)"
USERS = ("reader", "editor", "steward")
DEFAULT_POLICIES = Path(__file__).parents[2] / "crates/catalog/src/access/default_policies.json"

# Who may describe which dataset. The steward is a Reader otherwise.
DESCRIBES = [
    ("reader", LEDGER, False),
    ("reader", SALARIES, False),
    ("editor", LEDGER, True),
    ("editor", SALARIES, True),
    ("steward", LEDGER, True),
    ("steward", SALARIES, False),
]


class Caller:
    """A server as one user sees it."""

    def __init__(self, server: Server, token: str):
        self.url, self.token = server.url, token


@pytest.fixture(scope="module")
def callers(tmp_path_factory):
    """A server with two domains and a dataset in each, and its callers by name."""
    server = Server(tmp_path_factory.mktemp("access"))
    settings = DatahubClientConfig(server=server.url, token=server.token)
    with DataHubGraph(settings) as graph:
        for domain in (FINANCE, HR):
            graph.emit_mcp(_proposal(domain, DomainPropertiesClass(name=domain)))
        for dataset, domain in ((LEDGER, FINANCE), (SALARIES, HR)):
            graph.emit_mcp(_proposal(dataset, DatasetPropertiesClass(description="imported")))
            graph.emit_mcp(_proposal(dataset, DomainsClass(domains=[domain])))
    tokens = {}
    for user in USERS:
        create = ("token", "create", "--store", server.store, "--user", user, "--name", "tests")
        tokens[user] = Caller(server, server.docent(*create).strip())
        role = "urn:li:dataHubRole:" + ("Editor" if user == "editor" else "Reader")
        assigned = {"roleUrn": role, "actors": [f"urn:li:corpuser:{user}"]}
        server.graphql("mutation ($input: BatchAssignRoleInput!) { batchAssignRole(input: $input) }", input=assigned)
    policy = {
        "type": "METADATA",
        "state": "ACTIVE",
        "name": "Stewards of finance",
        "privileges": ["EDIT_ENTITY"],
        "actors": {
            "users": ["urn:li:corpuser:steward"],
            "resourceOwners": False,
            "allUsers": False,
            "allGroups": False,
        },
        "resources": {"filter": {"criteria": [{"field": "DOMAIN", "values": [FINANCE], "condition": "EQUALS"}]}},
    }
    server.graphql("mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }", input=policy)
    tokens["administrator"] = server
    yield tokens
    server.stop()


def _proposal(urn: str, aspect):
    return MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect)


def _graph(caller, flavour: str = "restli") -> DataHubGraph:
    settings = DatahubClientConfig(server=caller.url, token=caller.token)
    if flavour == "openapi":
        settings.client_mode = ClientMode.SDK
        settings.openapi_ingestion = True
    return DataHubGraph(settings)


def _description(callers, urn: str):
    found = callers["administrator"].read(urn, "editableDatasetProperties")
    return found and found["description"]


@pytest.mark.parametrize(("user", "urn", "is_allowed"), DESCRIBES)
def test_the_sdk_writes_what_its_user_may_write(callers, flavour, user, urn, is_allowed):
    text = f"by {user} over {flavour}"
    proposal = _proposal(urn, EditableDatasetPropertiesClass(description=text))
    with _graph(callers[user], flavour) as graph:
        if is_allowed:
            graph.emit_mcp(proposal)
            assert _description(callers, urn) == text
            return
        with pytest.raises(OperationalError) as denied:
            graph.emit_mcp(proposal)
    assert denied.value.info["error"] == "Forbidden", denied.value.info
    assert f"{user} needs one of the privileges EDIT_ENTITY_DOCS, EDIT_ENTITY on {urn}" in str(denied.value.info)
    assert _description(callers, urn) != text


@pytest.mark.parametrize(("user", "urn", "is_allowed"), DESCRIBES)
def test_graphql_through_the_sdk_says_what_is_missing(callers, user, urn, is_allowed):
    mutation = "mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
    variables = {"input": {"description": f"by {user} over GraphQL", "resourceUrn": urn}}
    with _graph(callers[user]) as graph:
        if is_allowed:
            assert graph.execute_graphql(mutation, variables) == {"updateDescription": True}
            return
        with pytest.raises(GraphError) as denied:
            graph.execute_graphql(mutation, variables)
    assert "EDIT_ENTITY_DOCS" in str(denied.value) and "403" in str(denied.value)


@pytest.mark.any_engine
@pytest.mark.parametrize(("user", "urn", "is_allowed"), DESCRIBES)
def test_the_command_line_says_what_is_missing(callers, run_cli, tmp_path, user, urn, is_allowed):
    text = f"by {user} from the command line"
    file = tmp_path / "aspect.json"
    file.write_text(json.dumps({"description": text}))
    put = ("put", "--urn", urn, "--aspect", "editableDatasetProperties", "-d", file)
    printed = run_cli(*put, at=callers[user], fails=not is_allowed)
    assert (_description(callers, urn) == text) == is_allowed
    if not is_allowed:
        assert "EDIT_ENTITY_DOCS" in printed, printed


@pytest.mark.any_engine
@pytest.mark.parametrize("user", USERS)
def test_the_agent_server_says_what_is_missing(callers, tmp_path, user):
    agent = Agent(callers[user].url, callers[user].token, tmp_path)
    try:
        for _, urn, is_allowed in (row for row in DESCRIBES if row[0] == user):
            change = {"entity_urn": urn, "operation": "replace", "description": f"by the agent of {user}"}
            if is_allowed:
                agent.call("update_description", **change)
                assert _description(callers, urn) == f"by the agent of {user}"
            else:
                with pytest.raises(ToolError, match="EDIT_ENTITY_DOCS"):
                    agent.call("update_description", **change)
        assert LEDGER in json.dumps(agent.call("search", query="ledger"))
    finally:
        agent.stop()


def test_an_editor_does_not_decide_who_may_do_what(callers):
    policy = DataHubPolicyInfoClass.from_obj(
        {
            "displayName": "p",
            "description": "",
            "type": "PLATFORM",
            "state": "ACTIVE",
            "privileges": ["MANAGE_POLICIES"],
            "actors": {"users": ["urn:li:corpuser:editor"]},
        }
    )
    with _graph(callers["editor"]) as graph:
        graph.emit_mcp(_proposal("urn:li:tag:access", TagPropertiesClass(name="access")))
        with pytest.raises(OperationalError) as denied:
            graph.emit_mcp(_proposal("urn:li:dataHubPolicy:access", policy))
        assert denied.value.info["status"] == 403 and "use createPolicy" in str(denied.value.info)
        mutation = "mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }"
        actors = {"users": ["urn:li:corpuser:editor"], "resourceOwners": False, "allUsers": False, "allGroups": False}
        created = {"type": "PLATFORM", "state": "ACTIVE", "name": "p", "privileges": ["MANAGE_POLICIES"]}
        with pytest.raises(GraphError) as denied:
            graph.execute_graphql(mutation, {"input": {**created, "actors": actors}})
    assert "MANAGE_POLICIES" in str(denied.value)


def test_the_default_policies_are_stored_as_datahub_writes_them(callers):
    with _graph(callers["administrator"]) as graph:
        for policy in json.loads(DEFAULT_POLICIES.read_text())["policies"]:
            stored = graph.get_aspect(f"urn:li:dataHubPolicy:{policy['id']}", DataHubPolicyInfoClass)
            assert stored and sorted(stored.privileges) == sorted(policy["privileges"]), policy["id"]
            assert stored.type == policy["type"] and stored.state == "ACTIVE"
            assert (stored.actors.roles or []) == policy["actors"].get("roles", []), policy["id"]
