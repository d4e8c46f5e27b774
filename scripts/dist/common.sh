# Shared by the scripts in this directory, each of which builds one artifact of a release. Sourced, never run.
# To add an artifact: a script here that writes to "$dist_directory", and a line in scripts/dist/all.
# shellcheck shell=bash

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# What is released, and what is built on the way there.
dist_directory="$target_directory/dist"
staging_directory="$target_directory/dist-staging"
mkdir -p "$dist_directory" "$staging_directory"

version="$(cargo pkgid --quiet --package docent)"
version="${version##*[#@]}"

# The time of every file in an archive, so that one commit makes the same bytes everywhere.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# Debian's and OCI's names of the architectures.
read -ra architectures <<<"${DOCENT_DIST_ARCHITECTURES:-amd64 arm64}"

# Prints the Rust target of an architecture. musl: the binary needs no library of the machine.
target_of() {
    case "$1" in
        amd64) echo x86_64-unknown-linux-musl ;;
        arm64) echo aarch64-unknown-linux-musl ;;
        *) fail "unknown architecture '$1': use amd64 or arm64" ;;
    esac
}

# Prints the architecture of this machine.
this_architecture() {
    case "$(uname -m)" in
        x86_64) echo amd64 ;;
        aarch64) echo arm64 ;;
        *) fail "releases are built on x86-64 or arm64, not on $(uname -m)" ;;
    esac
}

# Prints the binary of an architecture, which scripts/dist/binary has built.
binary_of() {
    local binary="$staging_directory/$1/docent"
    [[ -x "$binary" ]] || fail "missing: $binary. Run 'scripts/dist/binary $1' first."
    echo "$binary"
}

# archive FILE DIRECTORY NAME...: writes a reproducible .tar.gz of some names in a directory.
archive() {
    tar --create --directory "$2" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --mode='u=rwX,go=rX' "${@:3}" | gzip --best --no-name >"$1"
}
