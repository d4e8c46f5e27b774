"""The artifacts of `make dist`, each started on a root file system that has nothing else.

`make dist-test` runs these tests, as root, because they mount file systems and start a Debian system.
"""

import gzip
import hashlib
import html.parser
import io
import json
import os
import signal
import subprocess
import tarfile
import time
import tomllib
from pathlib import Path

import pytest

import bare
import loopback

pytestmark = pytest.mark.dist

ARCHITECTURES = os.environ.get("DOCENT_DIST_ARCHITECTURES", "amd64 arm64").split()
THIS = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
MIB = 1 << 20
MAXIMAL_IMAGE = 40 * MIB
EMULATORS = {"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}
# The commands of these documents read, search and write over every API.
DOCUMENTS = "README.md docs/API.md"
# So that containers start where control groups are missing and limits cannot be raised.
CONTAINER_LIMITS = ["--cgroups", "disabled", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"]


@pytest.fixture(scope="session")
def dist(root) -> Path:
    directory = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "dist"
    assert directory.is_dir(), "run `make dist` first"
    return directory


@pytest.fixture(scope="session")
def version(root) -> str:
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@pytest.fixture(scope="session")
def unpacked(dist, version, tmp_path_factory):
    """`unpacked(architecture)` returns the directory of the archive."""

    def directory(architecture: str) -> Path:
        target = tmp_path_factory.mktemp("archive")
        name = f"docent-{version}-linux-{architecture}"
        with tarfile.open(dist / f"{name}.tar.gz") as tar:
            tar.extractall(target, filter="fully_trusted")
        return target / name

    return directory


@pytest.fixture
def documents(run):
    """`documents(script)` runs the commands of the documents with a script in place of the binary."""

    def runs(script: Path, names: str = DOCUMENTS):
        environment = {"DOCENT_TEST_BINARY": str(script), "DOCENT_TEST_DOCUMENTS": names}
        command = ("cargo", "test", "--quiet", "--package", "docent-e2e", "--test", "documents")
        run(*command, env=environment, timeout=1200)

    return runs


def test_every_artifact_has_its_checksum(dist):
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    assert listed.keys() == files
    for name, digest in listed.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest, name


def test_there_is_every_artifact(dist, version):
    expected = {f"docent-{version}-image.tar", f"docent-{version}.tgz", f"docent-{version}-deploy.tar.gz"}
    expected |= {f"docent-{version}.cdx.json", f"docent-{version}-docs.tar.gz", "SHA256SUMS"}
    for architecture in ARCHITECTURES:
        expected |= {f"docent-{version}-linux-{architecture}.tar.gz", f"docent_{version}_{architecture}.deb"}
        expected.add(f"docent-{version}-image-{architecture}.tar")
    assert {path.name for path in dist.iterdir()} == expected


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_binary_needs_no_library(run, unpacked, architecture):
    binary = unpacked(architecture) / "docent"
    headers = run("readelf", "--wide", "--program-headers", "--file-header", binary)
    assert "INTERP" not in headers and "DYNAMIC" not in headers.replace("GNU_", "")
    assert {"amd64": "X86-64", "arm64": "AArch64"}[architecture] in headers


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_binary_names_no_directory_of_the_machine(unpacked, root, architecture):
    content = (unpacked(architecture) / "docent").read_bytes()
    for directory in (root, Path.home() / ".cargo"):
        assert str(directory).encode() not in content


def test_the_binary_runs_where_nothing_else_is(unpacked, documents, tmp_path):
    empty = tmp_path / "root"
    empty.mkdir()
    (empty / "docent").write_bytes((unpacked(THIS) / "docent").read_bytes())
    (empty / "docent").chmod(0o755)
    documents(bare.in_root(tmp_path / "docent", empty, "/docent", 65532, 65532, {}))


@pytest.mark.parametrize("architecture", [it for it in ARCHITECTURES if it != THIS])
def test_the_binary_of_another_architecture_passes_the_readme(unpacked, documents, tmp_path, architecture):
    binary = unpacked(architecture) / "docent"
    # An emulated server takes ten times as long: the longer documents would exceed their time.
    documents(bare.emulated(tmp_path / "docent", EMULATORS[architecture], binary), "README.md")


# ---- The container image ----


@pytest.fixture(scope="session")
def podman(dist, version, run, tmp_path_factory):
    """Podman with the image of this architecture, and storage of its own; its containers end with the tests."""
    storage = tmp_path_factory.mktemp("podman")
    command = ["podman", "--root", f"{storage}/root", "--runroot", f"{storage}/run", "--storage-driver", "vfs"]
    command += ["--cgroup-manager", "cgroupfs", "--events-backend", "file"]
    run(*command, "load", "--input", dist / f"docent-{version}-image-{THIS}.tar")
    yield command
    run(*command, "rm", "--all", "--force", "--time", "0")
    # Its layers belong to other users.
    run(*command, "rmi", "--all", "--force")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_image_is_small(dist, version, architecture):
    assert (dist / f"docent-{version}-image-{architecture}.tar").stat().st_size <= MAXIMAL_IMAGE


def test_the_image_passes_the_documents_in_a_container(podman, documents, version, tmp_path):
    script = bare.in_container(tmp_path / "docent", podman, CONTAINER_LIMITS, f"docent:{version}", 65532)
    documents(script)


def test_the_image_passes_the_documents_as_a_root_file_system(dist, version, documents, tmp_path):
    unpacked, config = unpack_image(dist / f"docent-{version}-image.tar", THIS, tmp_path)
    user, group = config["User"].split(":")
    environment = dict(variable.split("=", 1) for variable in config["Env"])
    (program,) = config["Entrypoint"]
    # The script itself needs the programs of this machine.
    del environment["PATH"]
    documents(bare.in_root(tmp_path / "docent", unpacked, program, int(user), int(group), environment))


def test_a_container_is_healthy_and_keeps_its_catalog(podman, run, version):
    options = ["--detach", "--network", "none", "--read-only", "--cap-drop", "all", "--volume", "state:/var/lib/docent"]
    for start in range(2):
        container = run(*podman, "run", *options, *CONTAINER_LIMITS, f"docent:{version}").strip()
        # The health check of the image.
        deadline = time.monotonic() + loopback.START_SECONDS
        check = [*podman, "exec", container, "/usr/bin/docent", "status", "http://127.0.0.1:8080"]
        while subprocess.run(check, capture_output=True).returncode != 0:
            assert time.monotonic() < deadline, run(*podman, "logs", container)
            time.sleep(0.2)
        listed = run(*podman, "exec", container, "/usr/bin/docent", "token", "list")
        assert ("kept" in listed) == (start > 0)
        create = ("token", "create", "--user", "datahub", "--name", f"kept-{start}")
        run(*podman, "exec", container, "/usr/bin/docent", *create)
        run(*podman, "exec", container, "/bin/sh", fails=True)
        run(*podman, "stop", "--time", "30", container)
        assert run(*podman, "inspect", "--format", "{{.State.ExitCode}}", container).strip() == "0"


def unpack_image(image: Path, architecture: str, directory: Path) -> tuple[Path, dict]:
    """Returns the root file system and the configuration of an image, read like a container runtime does."""
    with tarfile.open(image) as layout:

        def blob(descriptor: dict) -> bytes:
            return layout.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()

        (entry,) = json.load(layout.extractfile("index.json"))["manifests"]
        images = json.loads(blob(entry))["manifests"]
        (descriptor,) = [it for it in images if it["platform"]["architecture"] == architecture]
        manifest = json.loads(blob(descriptor))
        target = directory / "image"
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer)))) as tar:
                tar.extractall(target, numeric_owner=True, filter="fully_trusted")
        return target, json.loads(blob(manifest["config"]))["config"]


# ---- The Debian package ----


@pytest.fixture(scope="session")
def debian(dist, version, run, tmp_path_factory) -> Path:
    """A minimal Debian system with the package."""
    system = tmp_path_factory.mktemp("debian") / "root"
    run("debootstrap", "--variant=minbase", "--include=systemd", "bookworm", system, timeout=1800)
    package = f"docent_{version}_{THIS}.deb"
    (system / package).write_bytes((dist / package).read_bytes())
    print(run("chroot", system, "dpkg", "--install", f"/{package}", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}))
    return system


def ids(system: Path) -> tuple[int, int]:
    """Returns the user and the group of the service."""
    (line,) = [line for line in (system / "etc/passwd").read_text().splitlines() if line.startswith("docent:")]
    user, group = line.split(":")[2:4]
    return int(user), int(group)


def test_the_package_keeps_its_files_from_others(debian):
    user, group = ids(debian)
    for name, owner, mode in [
        ("var/lib/docent", (user, group), 0o700),
        ("etc/docent", (0, group), 0o750),
        ("etc/docent/docent.toml", (0, group), 0o640),
        ("etc/docent/admin-password", (0, 0), 0o600),
        ("etc/docent/secrets.key", (0, 0), 0o600),
    ]:
        status = (debian / name).stat()
        assert ((status.st_uid, status.st_gid), status.st_mode & 0o777) == (owner, mode), name


def test_the_package_passes_the_documents(debian, documents, tmp_path):
    documents(bare.in_root(tmp_path / "docent", debian, "/usr/bin/docent", *ids(debian), {}))


def test_the_service_starts_with_the_system_and_runs_alone(debian, run):
    """systemd starts the unit with all its restrictions; people sign in, and secrets are stored."""
    settings = debian / "etc/docent/docent.toml"
    address = f"127.0.0.1:{loopback.free_port()}"
    settings.write_text(settings.read_text().replace("127.0.0.1:8080", address))
    command = ["systemd-nspawn", "--directory", str(debian), "--boot", "--register=no", "--keep-unit", "--quiet"]
    console = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        loopback.wait_until_ready(f"http://{address}")
        password = (debian / "etc/docent/admin-password").read_text().strip()
        cookie = loopback.sign_in(f"http://{address}", password)
        mutation = 'mutation { createSecret(input: {name: "S", value: "v"}) }'
        created = loopback.graphql(f"http://{address}", mutation, Cookie=cookie)
        assert created["createSecret"].startswith("urn:li:dataHubSecret:")
        assert (debian / "var/lib/docent/docent.db").stat().st_uid == ids(debian)[0]
    finally:
        # Asks the system to shut down, which stops the server.
        console.send_signal(signal.SIGTERM)
        printed, _ = console.communicate(timeout=loopback.START_SECONDS)
    assert console.returncode == 0, printed.decode(errors="replace")


def test_a_removed_package_leaves_the_catalog(debian, run):
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    run("chroot", debian, "dpkg", "--purge", "docent", env=environment)
    assert not (debian / "usr/bin/docent").exists()
    assert not (debian / "etc/docent/admin-password").exists()
    for kept in ("var/lib/docent/docent.db", "etc/docent/secrets.key"):
        assert (debian / kept).exists(), kept


# ---- The documents ----


class Page(html.parser.HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.anchors.add(found["id"])
        for name in ("href", "src", "srcset"):
            if found.get(name):
                self.links.append(found[name])


def test_every_link_of_the_book_leads_somewhere_and_it_can_be_searched(dist, version, tmp_path):
    with tarfile.open(dist / f"docent-{version}-docs.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    (book,) = tmp_path.iterdir()
    assert list(book.glob("searchindex*.js")), "the book has no search"
    pages = {path: Page(path) for path in book.rglob("*.html") if path.name not in ("404.html", "toc.html")}
    assert len(pages) > 20
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if ":" in target or not (target or anchor):
                continue
            file = (path.parent / target).resolve() if target else path
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{path.name}: {link}")
    assert not broken, "\n".join(broken)
