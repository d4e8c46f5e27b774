"""Every aspect that the client knows is read back as written, whatever its content."""

import json
from urllib.parse import quote

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.serialization_helper import post_json_transform
from datahub.metadata.schema_classes import (
    ASPECT_NAME_MAP,
    DomainAssociationClass,
    DomainsClass,
    OwnershipClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertySettingsClass,
    VersionPropertiesClass,
    VersionSetPropertiesClass,
    VersionTagClass,
)
from datahub.metadata.urns import Urn

from generated import Generator, entities_with

# Written only by Docent's own use cases, so direct writes are rejected.
REFUSED = {
    "corpUserCredentials": "holds a password",
    "dataHubAccessTokenInfo": "holds the hash of a token",
    "dataHubAccessTokenKey": "would make a token",
    "dataHubConnectionDetails": "would not be encrypted",
    "dataHubPolicyInfo": "grants rights",
    "dataHubPolicyKey": "would make a policy",
    "dataHubSecretValue": "would not be encrypted",
    "globalSettingsInfo": "holds secrets of the server",
    "globalSettingsKey": "would make settings",
    "inviteToken": "holds the hash of an invite link",
    "inviteTokenKey": "would make an invite link",
    "nativeGroupMembership": "grants the rights of a group",
    "roleMembership": "grants the rights of a role",
}
# Members that are shown as asterisks, or all of whose members are.
REDACTED = {
    "dataHubExecutionRequestInput": [["args", "recipe"], ["args", "extra_env_vars"]],
    "dataHubIngestionSourceInfo": [["config", "recipe"], ["config", "extraArgs"]],
    "globalSettingsInfo": [["sso", "oidcSettings", "clientSecret"]],
}
# Aspects in the model that no entity type has.
NOWHERE = {"incidentSource", "mlHyperParam", "mlMetric"}
VALUES = 4
PROPERTY = "urn:li:structuredProperty:made.up"


def _keep_the_rules(aspect):
    """Adjusts a generated aspect so that it is stored unchanged: domains and owners are in it twice, and structured
    properties exist. Their definitions have no spaces, and are shown. Stages and logical parents would have to exist,
    too, and stages are for types of entities."""
    if isinstance(aspect, OwnershipClass):
        aspect.ownerTypes = _owners_by_type(aspect)
    if isinstance(aspect, DomainsClass):
        aspect.domains = list(dict.fromkeys(aspect.domains))
        aspect.domainAssociations = [DomainAssociationClass(domain=urn) for urn in aspect.domains]
    if isinstance(aspect, StructuredPropertiesClass):
        aspect.properties = aspect.properties[:1]
        for assigned in aspect.properties:
            assigned.propertyUrn = PROPERTY
            assigned.values = [str(value) for value in assigned.values]
    if isinstance(aspect, StructuredPropertyDefinitionClass):
        aspect.qualifiedName = aspect.qualifiedName.replace(" ", "_")
        aspect.version = None
        aspect.typeQualifier = None
        # Both must exist.
        aspect.valueType = "urn:li:dataType:datahub.string"
        aspect.entityTypes = ["urn:li:entityType:datahub.dataset"]
    if aspect.ASPECT_NAME == "status":
        aspect.lifecycleStage = None
    if aspect.ASPECT_NAME == "lifecycleStageTypeInfo":
        aspect.entityTypes = ["dataset"]
        aspect.transitionPolicy = None
    if aspect.ASPECT_NAME == "logicalParent":
        aspect.parent = None
    if isinstance(aspect, StructuredPropertySettingsClass):
        aspect.isHidden = False
    return aspect


def _owners_by_type(ownership):
    """Returns the owners by the URN of their type, as the server computes them."""
    by_type = {}
    for owner in ownership.owners:
        kind = owner.typeUrn or f"urn:li:ownershipType:__system__{owner.type.lower()}"
        by_type.setdefault(kind, []).append(owner.owner)
    return by_type


def _version(version_set, scheme):
    """Returns a proposal for the latest version of a set."""
    version = VersionPropertiesClass(
        versionSet=version_set, version=VersionTagClass("v"), sortId="AAAAAAAA", versioningScheme=scheme, isLatest=True
    )
    dataset = f"urn:li:dataset:(urn:li:dataPlatform:hive,{Urn.from_string(version_set).entity_ids[0]},PROD)"
    return MetadataChangeProposalWrapper(entityUrn=dataset, aspect=version)


def _definition(entities):
    """Returns the definition of the property that the generated aspects name."""
    types = [f"urn:li:entityType:datahub.{entity}" for entity in entities]
    definition = StructuredPropertyDefinitionClass(
        qualifiedName="made.up", valueType="urn:li:dataType:datahub.string", entityTypes=types, cardinality="MULTIPLE"
    )
    return MetadataChangeProposalWrapper(entityUrn=PROPERTY, aspect=definition)


def made_up(name: str, flavour: str):
    """Yields proposals for several entities, of several types if the aspect allows it."""
    entities = entities_with(name)
    if name == StructuredPropertiesClass.ASPECT_NAME:
        yield _definition(entities)
    for number in range(VALUES):
        generator = Generator(f"{name} {number}")
        urn = generator.urn(entities[number % len(entities)], f"{flavour} {name} {number}")
        if name == StructuredPropertyDefinitionClass.ASPECT_NAME:
            urn = urn.replace(" ", "_")
        is_key = name == Urn.from_string(urn).to_key_aspect().ASPECT_NAME
        value = Urn.from_string(urn).to_key_aspect() if is_key else _keep_the_rules(generator.aspect(name))
        if isinstance(value, VersionSetPropertiesClass):
            # Its latest version is one of the set.
            urn = f"urn:li:versionSet:({flavour} {number},dataset)"
            version = _version(urn, value.versioningScheme)
            value.latest = version.entityUrn
            yield version
        yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=value)


def _stored(server, proposal):
    """Returns the stored value, read without the client; the newest of a time series."""
    kind = type(proposal.aspect)
    if kind.ASPECT_TYPE != "timeseries":
        return server.read(proposal.entityUrn, kind.ASPECT_NAME)
    question = {"urn": proposal.entityUrn, "entity": proposal.entityType, "aspect": kind.ASPECT_NAME, "limit": 1}
    reply = server.request("POST", "/aspects?action=getTimeseriesAspectValues", question)
    (found,) = reply.json()["value"]["values"]
    return json.loads(found["aspect"]["value"])


@pytest.mark.parametrize("name", sorted(set(ASPECT_NAME_MAP) - set(REFUSED) - NOWHERE))
def test_an_aspect_is_read_back_as_written(name, graph, flavour, server):
    proposals = list(made_up(name, flavour))
    graph.emit_mcps(proposals)
    for proposal in proposals:
        stored = _stored(server, proposal)
        read_back = type(proposal.aspect).from_obj(post_json_transform(stored))
        assert read_back.to_obj() == _as_shown(name, proposal.aspect.to_obj()), proposal.entityUrn


def _as_shown(name, value):
    """Returns the value with its secret members replaced, if it has any."""
    for *parents, member in REDACTED.get(name, []):
        parent = value
        for part in parents:
            parent = (parent or {}).get(part)
        secret = (parent or {}).get(member)
        if isinstance(secret, dict):
            parent[member] = {key: "********" for key in secret}
        elif secret is not None:
            parent[member] = "********"
    return value


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_internal_aspect_is_rejected(name, graph, flavour, server):
    for proposal in made_up(name, flavour):
        with pytest.raises(OperationalError) as refused:
            graph.emit_mcps([proposal])
        assert refused.value.info["error"] == "Forbidden", refused.value.info
        assert _status_of_reading(server, proposal) in (403, 404)


def _status_of_reading(server, proposal) -> int:
    path = f"/aspects/{quote(proposal.entityUrn, safe='')}?aspect={proposal.aspectName}&version=0"
    return server.request("GET", path).status


def test_every_aspect_is_covered():
    assert len(ASPECT_NAME_MAP) == 271
    assert NOWHERE == {name for name in ASPECT_NAME_MAP if not entities_with(name)}
