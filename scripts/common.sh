# Shared by all scripts in this directory: paths, messages, package installation. Sourced, never run.
# A new script starts with:
#     source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck shell=bash

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Everything built or installed goes here, so that `make clean` removes all of it.
target_directory="${CARGO_TARGET_DIR:-target}"
if [[ "$target_directory" != /* ]]; then
    target_directory="$PWD/$target_directory"
fi
tools_directory="$target_directory/tools"
export PATH="$tools_directory/bin:$PATH"

# Continuous integration must not change Cargo.lock; a developer who adds a dependency does.
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

# Prints the virtual environment for a directory's requirements.txt.
python_environment() {
    case "$1" in
        tests) echo "$target_directory/venv" ;;
        tests/client) echo "$target_directory/venv-client" ;;
        tests/deploy) echo "$target_directory/venv-deploy" ;;
        scripts/dist) echo "$target_directory/venv-dist" ;;
        ui) echo "$target_directory/venv-node" ;;
        bench/peers/datahub) echo "$target_directory/venv-datahub" ;;
        bench/peers/postgraphile) echo "$target_directory/venv-postgraphile" ;;
        bench/peers/strawberry) echo "$target_directory/venv-strawberry" ;;
        *) fail "unknown Python environment '$1': add it to scripts/common.sh" ;;
    esac
}

# Installs Debian packages as root or with passwordless sudo; otherwise fails with the command to run.
install_packages() {
    local as_root=()
    if ! have apt-get; then
        fail "missing: $*. This machine has no apt-get: install them with its package manager and try again."
    fi
    if [[ "$(id -u)" -ne 0 ]]; then
        if have sudo && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            fail "missing: $*. Install them with 'apt-get install $*' as root and try again."
        fi
    fi
    say "installing $*"
    # A new machine's package lists are empty or old. The log is shown only on failure.
    local log
    log="$(mktemp)"
    if ! { "${as_root[@]}" apt-get update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "could not install $*: see the log above"
    fi
    rm -f "$log"
}

have_node() {
    have node && have npm && [[ "$(node --print 'Number(process.versions.node.split(".")[0]) >= 20')" == "true" ]]
}

# Puts Node 20 or newer on the PATH: the machine's own, or the one from a Python package.
use_node() {
    if have_node; then
        return
    fi
    scripts/set-up-python ui
    PATH="$(python_environment ui)/bin:$PATH"
    export PATH
    have_node || fail "missing: Node 20 or newer. Install it and try again."
}
