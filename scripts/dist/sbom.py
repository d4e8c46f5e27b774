"""Prints the software bill of materials of the binary as CycloneDX JSON.

    cargo tree … | sbom.py --metadata METADATA.json --lock Cargo.lock --page ui/package-lock.json --version 0.1.0

Standard input names the crates that the binary is built from, one `name version` per line: `cargo metadata` alone also
lists those of tests. The libraries of the web page, which the binary embeds, come from the lock file of npm.
"""

import argparse
import base64
import json
import os
import sys
import tomllib
import uuid
from datetime import UTC, datetime
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    for name in ("metadata", "lock", "page"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--version", required=True)
    arguments = parser.parse_args()
    metadata = json.loads(arguments.metadata.read_text())
    built = {tuple(line.removesuffix(" (*)").replace(" v", " ").split()[:2]) for line in sys.stdin if line.strip()}
    checksums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads(arguments.lock.read_text())["package"]
    }
    packages = {it["id"]: it for it in metadata["packages"] if (it["name"], it["version"]) in built}
    references = {key: reference(package) for key, package in packages.items()}
    (root,) = [key for key, package in packages.items() if package["name"] == "docent"]
    libraries = page_libraries(json.loads(arguments.page.read_text()))
    components = [
        crate(package, references[key], checksums.get((package["name"], package["version"])))
        for key, package in packages.items()
        if key != root
    ]
    dependencies = {references[root]: {library["bom-ref"] for library in libraries}}
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in references:
            used = {references[it["pkg"]] for it in node["deps"] if it["pkg"] in references and is_linked(it)}
            dependencies.setdefault(references[node["id"]], set()).update(used)
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Made of the content, so that one commit makes the same file everywhere.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, str((arguments.version, sorted(built))))}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": references[root],
                "name": "docent",
                "version": arguments.version,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": sorted(components + libraries, key=lambda it: it["bom-ref"]),
        "dependencies": [{"ref": it, "dependsOn": sorted(used)} for it, used in sorted(dependencies.items())],
    }
    json.dump(bom, sys.stdout, indent=1)
    print()


def reference(package: dict) -> str:
    if package["source"] is None:
        return f"{package['name']}@{package['version']}"
    return f"pkg:cargo/{package['name']}@{package['version']}"


def is_linked(dependency: dict) -> bool:
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def crate(package: dict, name: str, checksum: str | None) -> dict:
    component = {"type": "library", "bom-ref": name, "name": package["name"], "version": package["version"]}
    if package["license"]:
        # Some crates separate their licenses with a slash, which is no expression.
        component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["source"] is not None:
        component["purl"] = name
    if checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return component


def page_libraries(lock: dict) -> list[dict]:
    """Returns the libraries that the page needs in a browser; the others only build and test it."""
    libraries = {}
    for path, package in lock["packages"].items():
        if not path.startswith("node_modules/") or package.get("dev") or package.get("optional"):
            continue
        name = path.rpartition("node_modules/")[2]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        library = {"type": "library", "bom-ref": purl, "name": name, "version": package["version"], "purl": purl}
        if "license" in package:
            library["licenses"] = [{"expression": package["license"]}]
        if package.get("integrity", "").startswith("sha512-"):
            digest = base64.b64decode(package["integrity"].removeprefix("sha512-")).hex()
            library["hashes"] = [{"alg": "SHA-512", "content": digest}]
        libraries[purl] = library
    return list(libraries.values())


if __name__ == "__main__":
    main()
