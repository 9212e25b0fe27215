# Sourced by quickstart and check: installs the Debian packages that are missing, then builds a preset.
# POSIX sh. Nothing is downloaded when nothing is missing.

packages="gcc libc6-dev make cmake pkg-config libopenblas-pthread-dev liblapacke-dev libsqlite3-dev libfyaml-dev
librandom123-dev libxxhash-dev libcmocka-dev gnuplot-nox"
check_packages="sqlite3 clang libclang-rt-14-dev binutils"

say() { printf '\n== %s\n' "$*"; }

package_missing() { ! dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# install_missing PACKAGE...: says what it will install and with what rights.
install_missing() {
    missing=""
    for package in "$@"; do
        if package_missing "$package"; then missing="$missing $package"; fi
    done
    if [ -z "$missing" ]; then
        say "packages: nothing is missing"
        return 0
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "This is not a Debian system, so these must be installed by hand (Debian's names):$missing" >&2
        return 1
    fi
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Packages are missing and neither root nor sudo is at hand. As root, run:" >&2
            echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
            return 1
        fi
        as_root="sudo"
    fi
    say "packages: installing$missing"
    $as_root apt-get update -q
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

# build PRESET: configures and compiles into build/PRESET.
build() {
    say "building: preset $1, into build/$1"
    cmake --preset "$1" >build/"$1".configure.log 2>&1 || { cat build/"$1".configure.log >&2; return 1; }
    cmake --build --preset "$1" -j "$(nproc)" -- --no-print-directory >build/"$1".build.log 2>&1 ||
        { tail -n 60 build/"$1".build.log >&2; return 1; }
}
