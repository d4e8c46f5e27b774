"""The container image: what it contains and how it is run."""

import gzip
import hashlib
import io
import json
import tarfile

import pytest

import image

TIME = 1_700_000_000
BINARIES = {"amd64": b"x86-64", "arm64": b"arm"}


@pytest.fixture
def files():
    return image.image_files(BINARIES, b"certificates", "1.2.3", TIME)


def manifests(files: dict[str, bytes]) -> dict[str, dict]:
    """Returns the manifests by architecture, found like a client finds them, with all digests checked."""

    def content(descriptor):
        data = files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert descriptor["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
        assert descriptor["size"] == len(data)
        return data

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    found = {}
    for descriptor in json.loads(content(entry))["manifests"]:
        manifest = json.loads(content(descriptor))
        config = json.loads(content(manifest["config"]))
        layers = [gzip.decompress(content(layer)) for layer in manifest["layers"]]
        assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(it).hexdigest()}" for it in layers]
        assert config["architecture"] == descriptor["platform"]["architecture"]
        found[config["architecture"]] = {"config": config["config"], "layers": layers}
    return found


def entries(layers: list[bytes]) -> dict[str, tarfile.TarInfo]:
    found = {}
    for layer in layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            found |= {entry.name: entry for entry in tar.getmembers()}
    return found


def test_the_image_has_the_binary_certificates_and_nothing_else(files):
    found = manifests(files)
    assert found.keys() == BINARIES.keys()
    for architecture, parts in found.items():
        with tarfile.open(fileobj=io.BytesIO(parts["layers"][1])) as tar:
            assert tar.extractfile("usr/bin/docent").read() == BINARIES[architecture]
        names = {name for name, entry in entries(parts["layers"]).items() if entry.isfile()}
        assert names == {"etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt", "usr/bin/docent"}


def test_the_server_runs_as_a_user_that_owns_its_state_alone(files):
    for parts in manifests(files).values():
        user, _, group = parts["config"]["User"].partition(":")
        assert int(user) == int(group) == image.USER != 0
        owned = {name for name, entry in entries(parts["layers"]).items() if entry.uid == image.USER}
        assert owned == {"var/lib/docent"}
        writable = {name for name, entry in entries(parts["layers"]).items() if entry.mode & 0o022}
        assert writable == {"tmp"}


def test_the_health_check_needs_no_shell(files):
    for parts in manifests(files).values():
        config = parts["config"]
        assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/docent", "status", "http://127.0.0.1:8080"]
        assert "DOCENT_LISTEN=0.0.0.0:8080" in config["Env"]
        assert config["Entrypoint"] + config["Cmd"] == ["/usr/bin/docent", "serve"]
        assert config["Volumes"].keys() == {config["WorkingDir"]} == {"/var/lib/docent"}


def test_equal_input_makes_equal_bytes(run, tmp_path):
    (tmp_path / "binary").write_bytes(b"binary")
    written = []
    for name in ("first.tar", "second.tar"):
        arguments = ("--version", "1.2.3", "--certificates", tmp_path / "binary", "--output", tmp_path / name)
        run("python3", "scripts/dist/image.py", *arguments, f"amd64={tmp_path}/binary")
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_an_image_of_one_architecture_can_be_loaded_by_old_versions_of_docker(files):
    assert "manifest.json" not in files
    one = image.image_files({"arm64": b"arm"}, b"certificates", "1.2.3", TIME)
    (saved,) = json.loads(one["manifest.json"])
    assert saved["RepoTags"] == ["docent:1.2.3"]
    assert json.loads(one[saved["Config"]])["architecture"] == "arm64"
    assert all(layer in one for layer in saved["Layers"])
