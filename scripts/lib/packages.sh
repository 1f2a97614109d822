# shellcheck shell=bash disable=SC2034 # the lists are for those who source this
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs Debian packages that are missing; to be sourced. It says what it does, does nothing
# when everything is there, and needs root or sudo only when something is missing.

PACKAGES_BUILD="gcc libc6-dev make cmake ninja-build pkg-config libgsl-dev libjansson-dev libsqlite3-dev libexpat1-dev libyaml-dev zlib1g-dev"
PACKAGES_OPTIONAL="node-d3 libglpk-dev libmicrohttpd-dev libopenmpi-dev g++ libsimgrid-dev libns3-dev"
PACKAGES_SITE="python3 pandoc mandoc gnuplot-nox graphviz"
PACKAGES_TEST="python3-jsonschema libcriterion-dev clang libclang-rt-dev clang-format clang-tidy shellcheck openmpi-bin chromium chromium-driver python3-selenium $PACKAGES_SITE $PACKAGES_OPTIONAL"
PACKAGES_DEMO="gnuplot-nox node-d3 libmicrohttpd-dev"

say() {
    printf '== %s\n' "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 3
}

# The packages among "$@" that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" in
        *" installed") ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# How to become root: "" as root, else sudo (which must not ask when nobody can answer).
root_command() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif command -v sudo >/dev/null 2>&1; then
        if [ "${CI:-}" = true ] || [ ! -t 0 ]; then
            echo "sudo -n env"
        else
            echo "sudo env"
        fi
    else
        return 1
    fi
}

# install_packages PACKAGE...
install_packages() {
    local missing root log
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        say "not a Debian system: nothing is installed; needed are the equivalents of: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    missing=${missing% }
    if [ -z "$missing" ]; then
        return 0
    fi
    root=$(root_command) || die "these packages are missing, and this is neither root nor is there sudo.
Please run as root: apt-get update && apt-get install -y $missing"
    say "installing: $missing"
    # shellcheck disable=SC2086 # words are meant
    $root DEBIAN_FRONTEND=noninteractive apt-get -q update </dev/null >/dev/null ||
        say "apt-get update failed; trying with the package lists that are here"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! $root DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
        $missing </dev/null >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "could not install: $missing; all that apt-get said is in $log"
    fi
    rm -f "$log"
    missing=$(missing_packages "$@")
    [ -z "$missing" ] || die "still missing after the installation: $missing"
}

jobs_count() {
    nproc 2>/dev/null || echo 2
}
