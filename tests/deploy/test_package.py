"""The Debian package and the archive, built around the binary of the tests."""

import base64
import os
import tarfile
import tomllib
from pathlib import Path

import pytest

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


@pytest.fixture(scope="session")
def version(root) -> str:
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@pytest.fixture(scope="session")
def build(run, tmp_path_factory):
    """`build()` builds the package and the archive in an empty target directory, and returns where they are."""

    def built() -> Path:
        target = tmp_path_factory.mktemp("target")
        binary = target / "dist-staging" / ARCHITECTURE / "docent"
        binary.parent.mkdir(parents=True)
        # The scripts read nothing of it but its bytes.
        binary.write_text("#!/bin/sh\n")
        binary.chmod(0o755)
        environment = {"CARGO_TARGET_DIR": str(target)}
        run("scripts/dist/shell-files", env=environment)
        run("scripts/dist/archive", ARCHITECTURE, env=environment)
        run("scripts/dist/deb", ARCHITECTURE, env=environment)
        return target / "dist"

    return built


@pytest.fixture(scope="session")
def artifacts(build) -> Path:
    return build()


def test_equal_input_makes_equal_bytes(artifacts, build):
    first = {path.name: path.read_bytes() for path in artifacts.iterdir()}
    second = {path.name: path.read_bytes() for path in build().iterdir()}
    assert len(first) == 2
    assert [name for name in first if first[name] != second[name]] == []


def test_the_package_has_every_file_with_its_mode(artifacts, run, version):
    deb = artifacts / f"docent_{version}_{ARCHITECTURE}.deb"
    listed = {}
    for line in run("dpkg-deb", "--contents", deb).splitlines():
        mode, owner, *_, name = line.split()
        listed[name.removeprefix("./")] = (mode, owner)
    assert {owner for _, owner in listed.values()} == {"root/root"}
    for name, mode in {
        "usr/bin/docent": "-rwxr-xr-x",
        "usr/lib/systemd/system/docent.service": "-rw-r--r--",
        "etc/docent/docent.toml": "-rw-r--r--",
        "usr/share/man/man1/docent-serve.1.gz": "-rw-r--r--",
        "usr/share/bash-completion/completions/docent": "-rw-r--r--",
        "usr/share/zsh/vendor-completions/_docent": "-rw-r--r--",
        "usr/share/fish/vendor_completions.d/docent.fish": "-rw-r--r--",
        "usr/share/doc/docent/copyright": "-rw-r--r--",
    }.items():
        assert listed[name][0] == mode, name
    assert run("dpkg-deb", "--field", deb, "Version", "Architecture").split() == [
        "Version:", version, "Architecture:", ARCHITECTURE,
    ]  # fmt: skip


def test_every_configuration_file_is_kept_on_upgrade(artifacts, run, version, tmp_path):
    run("dpkg-deb", "--raw-extract", artifacts / f"docent_{version}_{ARCHITECTURE}.deb", tmp_path / "package")
    files = {
        f"/{path.relative_to(tmp_path / 'package')}" for path in (tmp_path / "package/etc").rglob("*") if path.is_file()
    }
    assert set((tmp_path / "package/DEBIAN/conffiles").read_text().split()) == files


def test_maintainer_scripts_are_valid(root, run):
    for name in ("preinst", "postinst", "postrm", "prerm"):
        run("sh", "-n", root / "deploy/debian" / name)


@pytest.fixture
def maintain(root, run, tmp_path):
    """`maintain(script, *arguments)` runs a script of the package on directories of the test, and returns what it
    orders of systemd."""
    system, programs = tmp_path / "system", tmp_path / "programs"
    for directory in (programs, system / "etc/docent", system / "run/systemd/system", system / "var/lib"):
        directory.mkdir(parents=True)
    (system / "etc/docent/docent.toml").touch()
    orders = tmp_path / "orders"
    for name in ("chown", "deb-systemd-helper", "deb-systemd-invoke", "getent", "install", "systemctl"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{orders}\n')
        program.chmod(0o755)

    def ran(script: str, *arguments: str, fails=False, path="") -> list[str]:
        text = (root / "deploy/debian" / script).read_text()
        for directory in ("/etc/docent", "/run/", "/var/lib/docent"):
            text = text.replace(directory, f"{system}{directory}")
        orders.write_text("")
        path = f"{path}:{programs}:/usr/bin:/bin"
        run("sh", "-c", text, script, *arguments, env={"PATH": path}, fails=fails)
        lines = orders.read_text().splitlines()
        return [line.removeprefix("deb-systemd-invoke ") for line in lines if line.startswith("deb-systemd-invoke")]

    ran.etc = system / "etc/docent"
    return ran


def test_an_installation_after_a_removal_starts_the_service(maintain):
    maintain("preinst", "install")
    assert maintain("postinst", "configure", "") == ["start docent.service"]
    assert maintain("prerm", "remove") == ["stop docent.service"]
    maintain("preinst", "install", "0.1.0")
    assert maintain("postinst", "configure", "0.1.0") == ["start docent.service"]
    # An upgrade leaves a stopped service alone.
    maintain("prerm", "upgrade", "0.2.0")
    maintain("preinst", "upgrade", "0.1.0")
    assert maintain("postinst", "configure", "0.1.0") == ["try-restart docent.service"]


def test_an_interrupted_installation_leaves_no_part_of_a_secret(maintain, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "head").write_text("#!/bin/sh\nexit 1\n")
    (broken / "head").chmod(0o755)
    maintain("postinst", "configure", "", fails=True, path=broken)
    assert not (maintain.etc / "admin-password").exists()
    # What an older version of the script has left.
    (maintain.etc / "secrets.key").touch()
    maintain("postinst", "configure", "")
    secrets = {name: (maintain.etc / name).read_text() for name in ("admin-password", "secrets.key")}
    assert [len(base64.b64decode(text)) for text in secrets.values()] == [18, 32]
    assert [(maintain.etc / name).stat().st_mode & 0o777 for name in secrets] == [0o600, 0o600]
    maintain("postinst", "configure", "0.1.0")
    assert {name: (maintain.etc / name).read_text() for name in secrets} == secrets
    assert sorted(path.name for path in maintain.etc.iterdir()) == ["admin-password", "docent.toml", "secrets.key"]


def test_the_archive_has_one_directory(artifacts, version):
    name = f"docent-{version}-linux-{ARCHITECTURE}"
    with tarfile.open(artifacts / f"{name}.tar.gz") as tar:
        names = {entry.name for entry in tar.getmembers()}
        assert tar.getmember(f"{name}/docent").mode & 0o777 == 0o755
    assert {f"{name}/LICENSE", f"{name}/man/docent.1", f"{name}/systemd/docent.service"} <= names
    assert all(entry.split("/")[0] == name for entry in names)
