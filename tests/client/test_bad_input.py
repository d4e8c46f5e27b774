"""Invalid requests are rejected with 4xx and a message, and nothing of a batch is written.

The client sends a request again after a 5xx, so a mistake of its own must never be one.
"""

import json

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mce_builder import make_dataset_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    DomainsClass,
    GenericAspectClass,
    MetadataChangeProposalClass,
    StatusClass,
)

MEBIBYTE = 1024 * 1024
# What errors with 4xx begin with. The client does not show the status of an error over OpenAPI.
REJECTIONS = ("Bad Request", "Invalid urn!", "Unprocessable Entity", "Validation Error")


def _raw(urn, aspect, value, kind="dataset", change="UPSERT"):
    """A proposal with content that the client's own classes would reject."""
    content = GenericAspectClass(value=json.dumps(value).encode(), contentType="application/json")
    return MetadataChangeProposalClass(
        entityType=kind, changeType=change, entityUrn=urn, aspectName=aspect, aspect=content
    )


# The defect, and the word in the message that identifies the field.
BAD = {
    "a member of another type": (lambda urn: _raw(urn, "status", {"removed": "perhaps"}), "removed"),
    "a required member that is missing": (lambda urn: _raw(urn, "globalTags", {"tags": [{}]}), "tag"),
    "an enum that has no such symbol": (
        lambda urn: _raw(urn, "ownership", {"owners": [{"owner": "urn:li:corpuser:a", "type": "BOSS"}]}),
        "type",
    ),
    "a URN that is none": (lambda urn: _raw(urn, "globalTags", {"tags": [{"tag": "gold"}]}), "tag"),
    "an aspect that nobody knows": (lambda urn: _raw(urn, "noSuchAspect", {}), "noSuchAspect"),
    "an aspect of another type of entity": (lambda urn: _raw(urn, "domainProperties", {"name": "x"}), "domainProperties"),
    "an aspect that is no object": (lambda urn: _raw(urn, "status", [1, 2]), "status"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_bad_item_fails_its_whole_batch(case, graph, read, unique):
    make, word = BAD[case]
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(3)]
    batch = [MetadataChangeProposalWrapper(entityUrn=urn, aspect=StatusClass(removed=False)) for urn in urns[:2]]
    batch.append(make(urns[2]))
    with pytest.raises(OperationalError) as refused:
        graph.emit_mcps(batch)
    assert refused.value.info["error"].startswith(REJECTIONS), refused.value.info
    message = refused.value.info["message"]
    for part in ("item 2", urns[2]):
        assert part in message, f"{message!r} does not name {part!r}"
    assert word in message.replace(urns[2], ""), f"{message!r} does not name {word!r}"
    assert [read(urn, "datasetKey") for urn in urns] == [None, None, None]


def test_an_unknown_member_is_dropped(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    graph.emit_mcps([_raw(urn, "status", {"removed": True, "colour": "red"})])
    assert read(urn, "status") == {"removed": True}


@pytest.mark.parametrize(
    "urn",
    [
        "not a urn",
        "urn:li:dataset",
        "urn:li:dataset:(urn:li:dataPlatform:hive,only two)",
        "urn:li:noSuchType:x",
        f"urn:li:dataset:(urn:li:dataPlatform:hive,{'x' * 3000},PROD)",
    ],
    ids=["text", "short", "parts", "type", "long"],
)
def test_an_invalid_urn_is_rejected(urn, graph, flavour):
    with pytest.raises(OperationalError) as refused:
        graph.emit_mcps([_raw(urn, "status", {"removed": False})])
    assert refused.value.info["error"].startswith(REJECTIONS), refused.value.info
    assert refused.value.info["message"]


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("POST", "/aspects?action=ingestProposal", b"{"),
        ("POST", "/aspects?action=ingestProposal", b"[]"),
        ("POST", "/aspects?action=ingestProposal", b'{"proposal": 7}'),
        ("POST", "/aspects?action=ingestProposalBatch", b'{"proposals": {}}'),
        ("POST", "/aspects?action=noSuchAction", b"{}"),
        ("POST", "/aspects?action=getTimeseriesAspectValues", b'{"urn": "urn:li:tag:x"}'),
        ("POST", "/entities?action=search", b'{"input": 7}'),
        ("POST", "/entities?action=delete", b'{"urn": "x"}'),
        ("POST", "/runs?action=rollback", b"{}"),
        ("POST", "/api/graphql", b'{"query": "{"}'),
        ("POST", "/api/graphql", b"\xff\xfe"),
        ("POST", "/openapi/v3/entity/dataset", b'{"urn": "x"}'),
        ("POST", "/openapi/v3/entity/dataset", b'[{"urn": "x"}]'),
        ("POST", "/openapi/v3/entity/noSuchType", b"[]"),
        ("PATCH", "/openapi/v3/entity/dataset", b"[7]"),
        ("POST", "/openapi/v3/entity/dataset/batchGet", b'[{"urn": 7}]'),
        ("GET", "/openapi/v3/entity/dataset/not-a-urn", None),
        ("GET", "/aspects/not-a-urn?aspect=status&version=0", None),
        ("GET", "/aspects/urn%3Ali%3Atag%3Ax?aspect=status&version=x", None),
        ("GET", "/entitiesV2/%ff", None),
        ("GET", "/openapi/v2/timeline/v1/x?categories=NONE", None),
    ],
)
def test_malformed_requests_are_client_errors(method, path, body, server):
    reply = server.request(method, path, body)
    # GraphQL reports errors in a reply with status 200.
    if path == "/api/graphql" and reply.status == 200:
        assert reply.json()["errors"]
    else:
        assert 400 <= reply.status < 500, f"{reply.status} {reply.text}"
        assert reply.json()["message"], reply.text


URN = make_dataset_urn("hive", "bad_items")
STATUS = {"contentType": "application/json", "value": json.dumps({"removed": True})}
PROPOSAL = {"entityUrn": URN, "entityType": "dataset", "aspectName": "status", "changeType": "UPSERT", "aspect": STATUS}
BUCKET = {"bucket": 0, "duration": "DAY", "resource": URN, "metrics": {}}
SNAPSHOT = {"urn": URN, "aspects": [{"com.linkedin.common.Status": {"removed": True}}]}
ENTITY = {"urn": URN, "status": {"value": {"removed": True}}}


@pytest.mark.parametrize(
    "path, body, part",
    [
        ("/aspects?action=ingestProposalBatch", {"proposals": [PROPOSAL, PROPOSAL | {"aspect": 5}]}, f"({URN}): aspect"),
        (
            "/aspects?action=ingestProposalBatch",
            {"proposals": [PROPOSAL, PROPOSAL | {"entityUrn": "urn:li:dataHubAccessToken:x", "entityType": "dataHubAccessToken"}]},
            "urn:li:dataHubAccessToken:x",
        ),
        ("/usageStats?action=batchIngest", {"buckets": [BUCKET, BUCKET | {"resource": "nobody"}]}, "(nobody): resource"),
        ("/usageStats?action=batchIngest", {"buckets": [BUCKET, BUCKET | {"metrics": {"users": [{"count": 1}]}}]}, "users"),
        (
            "/entities?action=batchIngest",
            {"entities": [{"value": {f"com.linkedin.metadata.snapshot.{kind}Snapshot": SNAPSHOT}} for kind in ("Dataset", "Tag")]},
            URN,
        ),
        ("/openapi/v3/entity/dataset?async=false", [ENTITY, ENTITY | {"Status": ENTITY["status"]}], f"{URN} status"),
    ],
)
def test_an_invalid_item_is_identified_on_every_endpoint(path, body, part, server, read):
    reply = server.request("POST", path, json.dumps(body).encode())
    assert 400 <= reply.status < 500, f"{reply.status} {reply.text}"
    message = reply.json()["message"]
    assert "item 1" in message
    assert part in message
    assert read(URN, "datasetKey") is None


def test_bodies_up_to_the_limit_are_accepted(server, read, unique):
    urn = make_dataset_urn("hive", unique)

    def body(size):
        """Returns a proposal of this many bytes."""
        proposal = {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": "datasetProperties",
            "aspect": {"contentType": "application/json", "value": json.dumps({"description": "TEXT"})},
        }
        text = json.dumps({"proposal": proposal, "async": "false"})
        return text.replace("TEXT", "x" * (size - len(text) + 4)).encode()

    largest = body(16 * MEBIBYTE)
    assert len(largest) == 16 * MEBIBYTE
    reply = server.request("POST", "/aspects?action=ingestProposal", largest)
    assert reply.status == 200, reply.text[:500]
    stored = len(read(urn, "datasetProperties")["description"])
    assert stored > 15 * MEBIBYTE
    reply = server.request("POST", "/aspects?action=ingestProposal", body(16 * MEBIBYTE + 1))
    assert reply.status == 413
    assert "16" in reply.json()["message"]
    assert len(read(urn, "datasetProperties")["description"]) == stored


def test_a_batch_of_15_mebibytes_is_accepted(graph, read, unique):
    urns = [make_dataset_urn("hive", f"{unique}.{number}") for number in range(5)]
    aspects = [DatasetPropertiesClass(description=str(number) * (3 * MEBIBYTE)) for number in range(5)]
    graph.emit_mcps([MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect) for urn, aspect in zip(urns, aspects)])
    for urn, aspect in zip(urns, aspects):
        assert read(urn, "datasetProperties")["description"] == aspect.description


def test_domains_of_the_client_s_own_class_are_checked_too(graph, read, unique):
    urn = make_dataset_urn("hive", unique)
    with pytest.raises(OperationalError, match="(?i)domain"):
        graph.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=DomainsClass(domains=["urn:li:tag:x"])))
    assert read(urn, "datasetKey") is None
