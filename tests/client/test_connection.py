"""The client finds a server that it takes for one of its own."""

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.configuration.common import ConfigurationError
import pytest


def test_the_connection_test_succeeds(graph):
    graph.test_connection()
    assert graph.server_config.raw_config["noCode"] == "true"


def test_a_wrong_token_is_refused_with_a_sentence(server):
    settings = DatahubClientConfig(server=server.url, token="not a token")
    with pytest.raises(Exception, match="(?i)token|unauthorized|401") as refused, DataHubGraph(settings) as graph:
        graph.execute_graphql("{ me { corpUser { urn } } }")
    assert not isinstance(refused.value, ConfigurationError), refused.value


def test_the_command_line_shows_the_server_s_settings(run_cli):
    assert "statefulIngestionCapable" in run_cli("check", "server-config")
