"""Writes a container image from scratch as an OCI layout in a tar file, without a daemon.

    image.py --version 0.1.0 --certificates cacert.pem --output image.tar amd64=BINARY arm64=BINARY

The image has the binary, certificates of authorities, a user and two directories, and nothing else: no shell, no
package manager. The same input makes the same bytes; SOURCE_DATE_EPOCH is the time of all files. With one architecture,
the file also has the index of `docker save`, which versions of Docker without containerd's image store need.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import tarfile
from datetime import UTC, datetime
from pathlib import Path

# Any number but 0: Kubernetes checks that it is not root's.
USER = 65532
STATE = "/var/lib/docent"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BINARY = "/usr/bin/docent"
SECOND = 1_000_000_000

INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"


def config(version: str) -> dict:
    """Returns how the image is run."""
    return {
        "User": f"{USER}:{USER}",
        "ExposedPorts": {"8080/tcp": {}},
        "Env": [
            "PATH=/usr/bin",
            f"SSL_CERT_FILE={CERTIFICATES}",
            f"DOCENT_STORE=sqlite:{STATE}/docent.db",
            "DOCENT_LISTEN=0.0.0.0:8080",
        ],
        "Entrypoint": [BINARY],
        "Cmd": ["serve"],
        "Volumes": {STATE: {}},
        "WorkingDir": STATE,
        "StopSignal": "SIGTERM",
        # Docker's, which the OCI format passes on. By address: the image has no /etc/hosts of its own.
        "Healthcheck": {
            "Test": ["CMD", BINARY, "status", "http://127.0.0.1:8080"],
            "Interval": 30 * SECOND,
            "Timeout": 10 * SECOND,
            "StartPeriod": 60 * SECOND,
            "Retries": 3,
        },
        "Labels": {
            "org.opencontainers.image.title": "Docent",
            "org.opencontainers.image.description": "Metadata catalog in one binary, compatible with DataHub's API",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": version,
        },
    }


class Layer:
    """A tar file with fixed times and owners."""

    def __init__(self, time: int):
        self._time = time
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)

    def directory(self, path: str, mode=0o755, owner=0):
        self._add(path, tarfile.DIRTYPE, mode, owner, b"")

    def file(self, path: str, content: bytes, mode=0o644):
        self._add(path, tarfile.REGTYPE, mode, 0, content)

    def _add(self, path: str, kind: bytes, mode: int, owner: int, content: bytes):
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.type, entry.mode, entry.mtime, entry.size = kind, mode, self._time, len(content)
        entry.uid = entry.gid = owner
        self._tar.addfile(entry, io.BytesIO(content))

    def bytes(self) -> bytes:
        self._tar.close()
        return self._bytes.getvalue()


def base_layer(time: int, certificates: bytes) -> bytes:
    layer = Layer(time)
    for path in ("/etc", "/etc/ssl", "/etc/ssl/certs", "/usr", "/usr/bin", "/var", "/var/lib"):
        layer.directory(path)
    layer.directory("/tmp", mode=0o1777)
    layer.directory(STATE, mode=0o700, owner=USER)
    layer.file("/etc/passwd", f"docent:x:{USER}:{USER}:Docent:{STATE}:/nonexistent\n".encode())
    layer.file("/etc/group", f"docent:x:{USER}:\n".encode())
    layer.file(CERTIFICATES, certificates)
    return layer.bytes()


def binary_layer(time: int, binary: bytes) -> bytes:
    layer = Layer(time)
    layer.file(BINARY, binary, mode=0o755)
    return layer.bytes()


class Blobs:
    """The contents of the image, by digest."""

    def __init__(self):
        self.files: dict[str, bytes] = {}

    def add(self, media_type: str, content: bytes) -> dict:
        """Adds a content and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, media_type: str, content: dict) -> dict:
        return self.add(media_type, json_bytes(content))


def json_bytes(content) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def path_of(descriptor: dict) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def add_image(blobs: Blobs, architecture: str, version: str, time: int, layers: list[bytes]) -> tuple[dict, dict]:
    """Adds the image of an architecture, and returns the descriptor and the content of its manifest."""
    descriptors = [blobs.add(LAYER_TYPE, gzip.compress(layer, 9, mtime=0)) for layer in layers]
    created = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    image = {
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": config(version),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(it).hexdigest()}" for it in layers]},
        "history": [
            {"created": created, "created_by": "certificates and directories"},
            {"created": created, "created_by": "the binary"},
        ],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": blobs.add_json(CONFIG_TYPE, image),
        "layers": descriptors,
    }
    descriptor = blobs.add_json(MANIFEST_TYPE, manifest)
    return descriptor | {"platform": {"architecture": architecture, "os": "linux"}}, manifest


def image_files(binaries: dict[str, bytes], certificates: bytes, version: str, time: int) -> dict[str, bytes]:
    """Returns the files of an OCI layout."""
    blobs = Blobs()
    base = base_layer(time, certificates)
    images = [
        add_image(blobs, architecture, version, time, [base, binary_layer(time, binary)])
        for architecture, binary in binaries.items()
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [descriptor for descriptor, _ in images]}
    # containerd and Podman name the loaded image by the first annotation, copies into a registry by the second.
    names = {"io.containerd.image.name": f"docent:{version}", "org.opencontainers.image.ref.name": version}
    entry = blobs.add_json(INDEX_TYPE, index) | {"annotations": names}
    files = blobs.files | {
        "oci-layout": json_bytes({"imageLayoutVersion": "1.0.0"}),
        "index.json": json_bytes({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]}),
    }
    if len(images) == 1:
        ((_, manifest),) = images
        saved = {
            "Config": path_of(manifest["config"]),
            "RepoTags": [f"docent:{version}"],
            "Layers": [path_of(layer) for layer in manifest["layers"]],
        }
        files["manifest.json"] = json_bytes([saved])
    return files


def write_tar(output: Path, files: dict[str, bytes], time: int):
    layout = Layer(time)
    for directory in ("blobs", "blobs/sha256"):
        layout.directory(directory)
    for path in sorted(files):
        layout.file(path, files[path])
    output.write_bytes(layout.bytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--certificates", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("binaries", nargs="+", metavar="ARCHITECTURE=BINARY")
    arguments = parser.parse_args()
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    binaries = {}
    for text in arguments.binaries:
        architecture, _, path = text.partition("=")
        binaries[architecture] = Path(path).read_bytes()
    files = image_files(binaries, arguments.certificates.read_bytes(), arguments.version, time)
    write_tar(arguments.output, files, time)


if __name__ == "__main__":
    main()
