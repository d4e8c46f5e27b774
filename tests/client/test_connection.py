"""The client accepts Docent as a DataHub server."""

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.configuration.common import ConfigurationError
import pytest


def test_the_connection_test_succeeds(graph):
    graph.test_connection()
    assert graph.server_config.raw_config["noCode"] == "true"


def test_an_invalid_token_is_rejected_with_a_message(server):
    settings = DatahubClientConfig(server=server.url, token="not a token")
    with pytest.raises(Exception, match="(?i)token|unauthorized|401") as refused, DataHubGraph(settings) as graph:
        graph.execute_graphql("{ me { corpUser { urn } } }")
    assert not isinstance(refused.value, ConfigurationError), refused.value


def test_the_cli_shows_the_server_configuration(run_cli):
    assert "statefulIngestionCapable" in run_cli("check", "server-config")
