"""The compose files, and the proxy of the one with two servers."""

import os
import re
import subprocess
import tomllib

import pytest
import yaml

import loopback
from postgres import Postgres
from running import Server

COMPOSE = "deploy/compose"
FILES = ("sqlite", "postgres", "datahub")


@pytest.mark.parametrize("name", FILES)
def test_compose_files_have_the_form_of_the_specification(run, tool, name):
    run(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", f"{COMPOSE}/{name}.yaml")


def test_the_validator_rejects_an_unknown_key(run, tool, tmp_path):
    (tmp_path / "wrong.yaml").write_text("services:\n  docent:\n    imaje: docent\n")
    printed = run(
        tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", tmp_path / "wrong.yaml", fails=True
    )
    assert "imaje" in printed


@pytest.mark.parametrize("name", FILES)
def test_what_a_compose_file_names_exists(root, name):
    text = (root / COMPOSE / f"{name}.yaml").read_text()
    document = yaml.safe_load(text)
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert set(re.findall(r"docent:(\d+\.\d+\.\d+)", text)) <= {version}
    services = document["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        assert set(service.get("secrets", ())) <= document.get("secrets", {}).keys()
        # Checks and restores of backups need temporary files.
        assert not service.get("read_only") or "/tmp" in service["tmpfs"]
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if not source.startswith((".", "$")):
                assert source in document["volumes"], source
            elif source.startswith("./"):
                assert (root / COMPOSE / source).exists(), source


def test_datahubs_image_has_the_version_that_is_tested(root):
    client = re.search(
        r"^acryl-datahub\[.*\]==(\d+\.\d+)\.", (root / "tests/client/requirements.txt").read_text(), re.M
    )
    image = yaml.safe_load((root / COMPOSE / "datahub.yaml").read_text())["services"]["datahub"]["image"]
    assert f":-v{client.group(1)}." in image


@pytest.fixture
def servers(tmp_path):
    """Two servers on one PostgreSQL database."""
    database = Postgres()
    database.sql("create database docent")
    running = []
    for name in ("first", "second"):
        directory = tmp_path / name
        directory.mkdir()
        arguments = ("--trusted-proxy", "127.0.0.1", "--search-index", "search")
        running.append(Server(directory, *arguments, store=database.store("docent")))
    yield running
    for server in running:
        server.stop()
    database.stop()


@pytest.fixture
def proxy(root, servers, tmp_path):
    """The address of the proxy of postgres.yaml in front of the two servers."""
    address = f"http://127.0.0.1:{loopback.free_port()}"
    environment = os.environ | {
        "DOCENT_ADDRESS": address,
        "DOCENT_SERVERS": " ".join(server.url.removeprefix("http://") for server in servers),
        "HOME": str(tmp_path),
    }
    config = tmp_path / "Caddyfile"
    # Its administration would need a port of its own.
    config.write_text("{\n\tadmin off\n}\n" + (root / COMPOSE / "Caddyfile").read_text())
    with open(tmp_path / "proxy.log", "w+") as log:
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", config]
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        loopback.wait_until_ready(address, (tmp_path / "proxy.log").read_text)
        yield address
        process.kill()
        process.wait()


def test_the_proxy_uses_the_server_that_is_left(servers, proxy):
    token = servers[1].token

    def requests_succeed():
        for _ in range(20):
            with loopback.send(f"{proxy}/health/detailed", Authorization=f"Bearer {token}") as response:
                assert response.status == 200

    requests_succeed()
    servers.pop(0).stop()
    requests_succeed()
