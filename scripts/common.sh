# Shared by every script in this directory: where things are, how to speak to the person, how to install a package.
# It is sourced, never run. A new script starts with:
#     source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck shell=bash

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Everything that is built or installed goes here, so `make clean` takes all of it away.
target_directory="${CARGO_TARGET_DIR:-target}"
if [[ "$target_directory" != /* ]]; then
    target_directory="$PWD/$target_directory"
fi
tools_directory="$target_directory/tools"
export PATH="$tools_directory/bin:$PATH"

# A continuous-integration run must not change Cargo.lock behind anyone's back; a person who adds a dependency may.
cargo_flags=()
if [[ "${CI:-}" == "true" ]]; then
    cargo_flags+=(--locked)
fi

say() {
    printf '==> %s\n' "$*" >&2
}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Prints where the Python packages of a directory's requirements.txt are installed.
python_environment() {
    case "$1" in
        tests) echo "$target_directory/venv" ;;
        tests/client) echo "$target_directory/venv-client" ;;
        ui) echo "$target_directory/venv-node" ;;
        *) fail "no Python environment belongs to '$1'" ;;
    esac
}

# Installs Debian packages as root, or through sudo when it asks for no password; otherwise says what to install.
install_packages() {
    local as_root=()
    if ! have apt-get; then
        fail "missing: $*. This machine has no apt-get; install them with its own package manager and try again."
    fi
    if [[ "$(id -u)" -ne 0 ]]; then
        if have sudo && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            fail "missing: $*. Install them with 'apt-get install $*' as root and try again."
        fi
    fi
    say "installing $*"
    # The lists of a new machine are empty or old, so they are fetched first. The log is shown only on failure.
    local log
    log="$(mktemp)"
    if ! { "${as_root[@]}" apt-get update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "could not install $*. The lines above say why."
    fi
    rm -f "$log"
}

have_node() {
    have node && have npm && [[ "$(node --print 'Number(process.versions.node.split(".")[0]) >= 20')" == "true" ]]
}

# Puts Node 20 or newer on the path: the machine's own, or one that comes as a Python package.
use_node() {
    if have_node; then
        return
    fi
    scripts/set-up-python ui
    PATH="$(python_environment ui)/bin:$PATH"
    export PATH
    have_node || fail "Node 20 or newer is missing. Install it and try again."
}
