"""Programs that stand for `docent` in tests, and run it elsewhere: in a root file system, or in a container.

Each is a script that passes its arguments on, in the directory where it was started, so that the tests of the documents
use an installed binary like any other. The directory belongs to the user of the server from then on.
"""

import shlex
from pathlib import Path

IN_ROOT = """#!/bin/bash
set -euo pipefail
{environment}
exec unshare --mount --propagation private -- bash -euo pipefail -c '
    root="$1" user="$2" group="$3" program="$4" directory="$(pwd -P)"
    shift 4
    mkdir -p "$root/proc" "$root$directory"
    mount -t proc proc "$root/proc"
    mount --bind "$directory" "$root$directory"
    chown --no-dereference --recursive "$user:$group" "$directory"
    exec unshare --root="$root" --wd="$directory" --setgid="$group" --setuid="$user" "$program" "$@"
' - {arguments} "$@"
"""

IN_CONTAINER = """#!/bin/bash
set -euo pipefail
directory="$(pwd -P)"
chown --no-dereference --recursive {user}:{user} "$directory"
exec {podman} run --rm --network host {limits} --volume "$directory:$directory" --workdir "$directory" {image} "$@"
"""

EMULATED = """#!/bin/bash
exec {command} "$@"
"""


def emulated(script: Path, emulator: str, binary: Path) -> Path:
    """A script that runs a binary of another architecture."""
    return _write(script, EMULATED.format(command=shlex.join([emulator, str(binary)])))


def in_root(script: Path, root: Path, program: str, user: int, group: int, environment: dict[str, str]) -> Path:
    """A script that runs a program of a root file system."""
    arguments = shlex.join([str(root), str(user), str(group), program])
    variables = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in environment.items())
    return _write(script, IN_ROOT.format(arguments=arguments, environment=variables))


def in_container(script: Path, podman: list[str], limits: list[str], image: str, user: int) -> Path:
    """A script that runs an image."""
    text = IN_CONTAINER.format(podman=shlex.join(podman), limits=shlex.join(limits), image=image, user=user)
    return _write(script, text)


def _write(script: Path, text: str) -> Path:
    script.write_text(text)
    script.chmod(0o755)
    return script
