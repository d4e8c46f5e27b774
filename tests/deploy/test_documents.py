"""The bill of materials, the book and the workflows of continuous integration."""

import json
import re
import tomllib

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

import book


def test_the_bill_of_materials_is_valid_and_names_what_is_linked(root, run, tmp_path):
    run("scripts/dist/sbom", env={"CARGO_TARGET_DIR": str(tmp_path)})
    (path,) = (tmp_path / "dist").iterdir()
    text = path.read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    names = {component["name"] for component in bill["components"]}
    # The engines, the page, and no test or tool.
    assert {"libsqlite3-sys", "tokio-postgres", "docent-http", "react"} <= names
    assert not {"proptest", "docent-test-postgres", "vite", "cc"} & names
    references = {component["bom-ref"] for component in bill["components"]}
    references.add(bill["metadata"]["component"]["bom-ref"])
    for entry in bill["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= references


def test_the_document_names_the_artifacts_of_this_version(root):
    version = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    text = (root / "docs/INSTALL.md").read_text()
    assert set(re.findall(r"docent[-_:](\d+\.\d+\.\d+)", text)) == {version}


def test_every_document_is_in_the_book(tmp_path, run):
    run("python3", "scripts/dist/book.py", tmp_path / "src")
    written = {path.name for path in (tmp_path / "src").glob("*.md")}
    listed = re.findall(r"\]\(([^)]+)\)", (tmp_path / "src/SUMMARY.md").read_text())
    assert set(listed) == written - {"SUMMARY.md"}
    assert len(listed) == len(set(listed))


def test_links_of_the_book_lead_into_the_book_or_to_the_sources(tmp_path, run):
    run("python3", "scripts/dist/book.py", tmp_path / "src", "--sources", "https://example.com/sources")
    count = 0
    for path in (tmp_path / "src").glob("*.md"):
        for _, target in book.LINK.findall(outside_code(path.read_text())):
            if "://" in target or target.startswith("#"):
                continue
            count += 1
            assert (path.parent / target.partition("#")[0]).is_file(), f"{path.name}: {target}"
    assert count > 100
    assert "https://example.com/sources/deny.toml" in (tmp_path / "src/ARCHITECTURE.md").read_text()


def outside_code(text: str) -> str:
    return re.sub(r"^ *(```+).*?^ *\1 *$", "", text, flags=re.M | re.S)


def test_a_link_to_nothing_stops_the_book(monkeypatch, tmp_path):
    for name in ("docs/images", "docs"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("# Title\n")
    (tmp_path / "docs/LOST.md").write_text("# Lost\n\n[gone](../missing.txt)\n")
    monkeypatch.setattr(book, "ROOT", tmp_path)
    with pytest.raises(book.BookError, match="docs/LOST.md"):
        book.summary()
    with pytest.raises(book.BookError, match="missing.txt"):
        book.converted("docs/LOST.md", None)


def test_workflows_have_the_form_of_the_service_and_pinned_actions(root, run, tool):
    workflows = sorted((root / ".github/workflows").glob("*.yml"))
    assert [path.name for path in workflows] == ["ci.yml", "release.yml"]
    run(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows)
    for path in workflows:
        for action in re.findall(r"uses: (\S+)", path.read_text()):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{path.name}: pin {action} to a commit"
