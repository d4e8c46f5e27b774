"""Every kind of aspect that the client knows comes back as it was written, whatever is in it."""

import json
from urllib.parse import quote

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.serialization_helper import post_json_transform
from datahub.metadata.schema_classes import ASPECT_NAME_MAP, DomainAssociationClass, DomainsClass
from datahub.metadata.urns import Urn

from generated import Generator, entities_with

# Written by our own use cases only, so the door for aspects is shut.
REFUSED = {
    "corpUserCredentials": "holds a password",
    "dataHubAccessTokenInfo": "holds the hash of a token",
    "dataHubAccessTokenKey": "would make a token",
}
# Taken, and never shown again.
SECRET = {
    "dataHubConnectionDetails": "holds what another system lets us in with",
    "dataHubSecretValue": "holds a secret of an ingestion recipe",
}
# The model has them as aspects, and no type of entity that may have them.
NOWHERE = {"incidentSource", "mlHyperParam", "mlMetric"}
VALUES = 4


def _keep_the_rules(aspect):
    """Makes a made-up aspect one that may be stored as it is: domains stand in it twice, and at most one does."""
    if isinstance(aspect, DomainsClass):
        aspect.domains = aspect.domains[:1]
        aspect.domainAssociations = [DomainAssociationClass(domain=urn) for urn in aspect.domains]
    return aspect


def made_up(name: str, flavour: str):
    """Yields proposals for several entities, of several types where the aspect may be on several."""
    for number in range(VALUES):
        generator = Generator(f"{name} {number}")
        entities = entities_with(name)
        urn = generator.urn(entities[number % len(entities)], f"{flavour} {name} {number}")
        is_key = name == Urn.from_string(urn).to_key_aspect().ASPECT_NAME
        value = Urn.from_string(urn).to_key_aspect() if is_key else _keep_the_rules(generator.aspect(name))
        yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=value)


def _stored(server, proposal):
    """What the server has, read without the client; the newest of a time series."""
    kind = type(proposal.aspect)
    if kind.ASPECT_TYPE != "timeseries":
        return server.read(proposal.entityUrn, kind.ASPECT_NAME)
    question = {"urn": proposal.entityUrn, "entity": proposal.entityType, "aspect": kind.ASPECT_NAME, "limit": 1}
    reply = server.request("POST", "/aspects?action=getTimeseriesAspectValues", question)
    (found,) = reply.json()["value"]["values"]
    return json.loads(found["aspect"]["value"])


@pytest.mark.parametrize("name", sorted(set(ASPECT_NAME_MAP) - set(REFUSED) - set(SECRET) - NOWHERE))
def test_an_aspect_comes_back_as_it_was_written(name, graph, flavour, server):
    proposals = list(made_up(name, flavour))
    graph.emit_mcps(proposals)
    for proposal in proposals:
        stored = _stored(server, proposal)
        read_back = type(proposal.aspect).from_obj(post_json_transform(stored))
        assert read_back.to_obj() == proposal.aspect.to_obj(), proposal.entityUrn


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_aspect_that_is_ours_alone_is_refused(name, graph, flavour, server):
    for proposal in made_up(name, flavour):
        with pytest.raises(OperationalError) as refused:
            graph.emit_mcps([proposal])
        assert refused.value.info["status"] == 403, refused.value.info
        assert _status_of_reading(server, proposal) in (403, 404)


@pytest.mark.parametrize("name", sorted(SECRET))
def test_a_secret_is_taken_and_not_shown(name, graph, flavour, server):
    proposals = list(made_up(name, flavour))
    graph.emit_mcps(proposals)
    for proposal in proposals:
        assert server.read(proposal.entityUrn, Urn.from_string(proposal.entityUrn).to_key_aspect().ASPECT_NAME)
        assert _status_of_reading(server, proposal) == 403


def _status_of_reading(server, proposal) -> int:
    path = f"/aspects/{quote(proposal.entityUrn, safe='')}?aspect={proposal.aspectName}&version=0"
    return server.request("GET", path).status


def test_every_kind_of_aspect_is_tried():
    assert len(ASPECT_NAME_MAP) == 271
    assert NOWHERE == {name for name in ASPECT_NAME_MAP if not entities_with(name)}
