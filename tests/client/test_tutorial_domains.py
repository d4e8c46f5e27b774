"""The scripts of the domains tutorial."""

import pytest
from datahub.emitter.mce_builder import make_dataset_urn, make_domain_urn
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.rest_emitter import DatahubRestEmitter
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.metadata.schema_classes import DomainPropertiesClass
from datahub.sdk import DataHubClient, Dataset


@pytest.fixture
def emitter(server):
    return DatahubRestEmitter(gms_server=server.url, token=server.token)


@pytest.fixture
def domain(emitter, unique):
    urn = make_domain_urn(unique)
    properties = DomainPropertiesClass(name=f"Marketing {unique}", description="Entities of the marketing department")
    emitter.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=properties))
    return urn


@pytest.fixture
def dataset(server, unique):
    DataHubClient.from_env().entities.upsert(Dataset(platform="hive", name=unique))
    return make_dataset_urn("hive", unique)


def test_a_domain_is_created(domain, read, unique):
    stored = read(domain, "domainProperties")
    assert (stored["name"], stored["description"]) == (f"Marketing {unique}", "Entities of the marketing department")
    assert read(domain, "domainKey") == {"id": unique}


def test_a_subdomain_is_created(domain, emitter, server, read, unique):
    urn = make_domain_urn(f"{unique}_verticals")
    properties = DomainPropertiesClass(name=f"Verticals {unique}", parentDomain=domain)
    emitter.emit(MetadataChangeProposalWrapper(entityUrn=urn, aspect=properties))
    assert read(urn, "domainProperties")["parentDomain"] == domain
    children = "query ($input: ListDomainsInput!) { listDomains(input: $input) { domains { urn } } }"
    found = server.graphql(children, input={"parentDomain": domain, "start": 0, "count": 10})
    assert found == {"listDomains": {"domains": [{"urn": urn}]}}


def test_a_dataset_is_added_to_a_domain(domain, dataset, read):
    client = DataHubClient.from_env()
    entity = client.entities.get(dataset)
    assert entity.domain is None
    entity.set_domain(domain)
    client.entities.update(entity)
    assert read(dataset, "domains")["domains"] == [domain]
    assert str(client.entities.get(dataset).domain) == domain


def test_a_dataset_is_removed_from_its_domain(domain, dataset, server, read):
    client = DataHubClient.from_env()
    entity = client.entities.get(dataset)
    entity.set_domain(domain)
    client.entities.update(entity)
    # The published script uses no token, on a server without authentication.
    graph = DataHubGraph(DatahubClientConfig(server=server.url, token=server.token))
    answer = graph.execute_graphql(query=f'mutation unsetDomain {{ unsetDomain(entityUrn:"{dataset}") }}')
    assert answer == {"unsetDomain": True}
    assert read(dataset, "domains")["domains"] == []
    assert client.entities.get(dataset).domain is None
