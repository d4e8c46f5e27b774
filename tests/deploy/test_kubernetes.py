"""The chart and the plain manifests: rendered by helm, and valid by the schemas of Kubernetes."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

# The oldest version that the chart accepts, and the newest whose schemas are installed.
VERSIONS = ("1.30", "1.37")
CHART = "deploy/helm/docent"
SERVICE_MONITOR = json.loads((Path(__file__).parent / "servicemonitor.schema.json").read_text())
POSTGRES = ("store.kind=postgres", "store.postgres.existingSecret=database")
# Every value that changes what is rendered.
EVERYTHING = (
    "adminPassword.existingSecret=admin",
    "secretKey.existingSecret=key",
    "metrics.serviceMonitor.enabled=true",
    "metrics.serviceMonitor.labels.release=prometheus",
    "ingress.enabled=true",
    "ingress.className=nginx",
    "ingress.tlsSecret=certificate",
    "ingress.annotations.example=yes",
    "image.digest=sha256:" + "a" * 64,
    "imagePullSecrets[0].name=registry",
    "persistence.storageClass=fast",
    "settings.public-url=https://docent.example.com",
    "settings.trusted-proxy={10.0.0.0/8,192.0.2.1}",
    "env[0].name=PGPASSWORD",
    "env[0].valueFrom.secretKeyRef.name=database",
    "env[0].valueFrom.secretKeyRef.key=password",
    "podAnnotations.example=yes",
    "podLabels.team=data",
    "nodeSelector.disk=ssd",
    "tolerations[0].operator=Exists",
    "networkPolicy.from[0].podSelector.matchLabels.app=proxy",
    "service.annotations.example=yes",
)


@pytest.fixture
def render(run, tool):
    """`render("key=value", …)` returns the objects that the chart makes of some values."""

    def rendered(*values, fails=False):
        settings = [part for value in values for part in ("--set", value)]
        printed = run(tool("helm"), "template", "docent", CHART, *settings, fails=fails)
        return printed if fails else list(filter(None, yaml.safe_load_all(printed)))

    return rendered


def validate(item: dict):
    """Fails if a field is unknown or has a wrong type."""
    if item["kind"] == "ServiceMonitor":
        jsonschema.validate(item, SERVICE_MONITOR)
        return
    for version in VERSIONS:
        kubernetes_validate.validate(item, version, strict=True)


def by_kind(items: list[dict], kind: str) -> dict:
    (found,) = [item for item in items if item["kind"] == kind]
    return found


@pytest.mark.parametrize("engine", [(), POSTGRES], ids=["sqlite", "postgres"])
@pytest.mark.parametrize("values", [(), EVERYTHING], ids=["defaults", "everything"])
def test_the_chart_renders_valid_objects(render, engine, values):
    items = render(*engine, *values)
    for item in items:
        validate(item)
    kinds = {item["kind"] for item in items}
    expected = {"ConfigMap", "NetworkPolicy", "Pod", "Service"}
    expected |= {"Deployment", "PodDisruptionBudget"} if engine else {"StatefulSet"}
    expected |= {"Ingress", "ServiceMonitor"} if values else set()
    assert kinds == expected


def test_the_validator_rejects_an_unknown_field(render):
    item = by_kind(render(), "StatefulSet")
    item["spec"]["replicaz"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        validate(item)


def test_helm_accepts_the_chart(run, tool):
    run(tool("helm"), "lint", "--strict", CHART)


def test_the_chart_has_the_version_of_docent(root):
    chart = yaml.safe_load((root / CHART / "Chart.yaml").read_text())
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_the_manifests_are_those_of_the_chart(root, run, tmp_path):
    run("scripts/dist/manifests", tmp_path)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text() for path in (root / "deploy/kubernetes").iterdir()}
    assert written == committed, "run scripts/dist/manifests"
    for text in committed.values():
        for item in yaml.safe_load_all(text):
            validate(item)


@pytest.mark.parametrize("kind, values", [("StatefulSet", ()), ("Deployment", POSTGRES)])
def test_pods_may_do_nothing_that_a_server_does_not_need(render, kind, values):
    pod = by_kind(render(*values, *EVERYTHING), kind)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    declared = {volume["name"] for volume in pod["volumes"]}
    assert mounted == (declared | {"state"})


@pytest.mark.parametrize("kind, values", [("StatefulSet", ()), ("Deployment", POSTGRES)])
def test_the_directory_for_temporary_files_is_writable(render, kind, values):
    pod = by_kind(render(*values), kind)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == "/tmp"]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    assert "emptyDir" in volume and not mount.get("readOnly")


def test_settings_become_the_file_of_the_server(render):
    items = render("settings.slow-ms=500", "settings.trusted-proxy={10.0.0.0/8}")
    text = by_kind(items, "ConfigMap")["data"]["docent.toml"]
    assert tomllib.loads(text) == {"slow-ms": 500, "trusted-proxy": ["10.0.0.0/8"]}
    changed = render("settings.slow-ms=501", "settings.trusted-proxy={10.0.0.0/8}")
    assert by_kind(items, "StatefulSet") != by_kind(changed, "StatefulSet"), "the pods must restart"


def test_the_url_of_a_value_becomes_a_secret(render):
    items = render("store.kind=postgres", "store.postgres.url=postgres://docent@db/docent")
    secret = by_kind(items, "Secret")
    validate(secret)
    assert secret["stringData"] == {"url": "postgres://docent@db/docent"}
    container = by_kind(items, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    (store,) = [it for it in container["env"] if it["name"] == "DOCENT_STORE"]
    assert store["valueFrom"]["secretKeyRef"] == {"name": secret["metadata"]["name"], "key": "url"}


def test_the_values_of_the_document_are_valid(root, run, tool, tmp_path):
    (text,) = re.findall(r"```yaml\n(# docent.yaml\n.*?)```", (root / "docs/INSTALL.md").read_text(), re.S)
    (tmp_path / "docent.yaml").write_text(text)
    items = list(
        yaml.safe_load_all(run(tool("helm"), "template", "docent", CHART, "--values", tmp_path / "docent.yaml"))
    )
    assert by_kind(items, "Ingress")["spec"]["tls"][0]["hosts"] == ["docent.example.com"]


@pytest.mark.parametrize(
    "values, message",
    [
        (("store.kind=mysql",), "store.kind"),
        (("store.kind=postgres",), "store.postgres.existingSecret"),
        (("replica=3",), "replica"),
        (("settings.listen=0.0.0.0:80",), "service.port"),
        (("settings.store=sqlite:x.db",), "store.kind"),
        (("settings.tls-cert=/chain.pem",), "ingress"),
    ],
)
def test_wrong_values_are_rejected(render, values, message):
    assert message in render(*values, fails=True)
