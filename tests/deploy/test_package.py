"""The Debian package and the archive, built around the binary of the tests."""

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
    for name in ("postinst", "postrm", "prerm"):
        run("sh", "-n", root / "deploy/debian" / name)


def test_the_archive_has_one_directory(artifacts, version):
    name = f"docent-{version}-linux-{ARCHITECTURE}"
    with tarfile.open(artifacts / f"{name}.tar.gz") as tar:
        names = {entry.name for entry in tar.getmembers()}
        assert tar.getmember(f"{name}/docent").mode & 0o777 == 0o755
    assert {f"{name}/LICENSE", f"{name}/man/docent.1", f"{name}/systemd/docent.service"} <= names
    assert all(entry.split("/")[0] == name for entry in names)
