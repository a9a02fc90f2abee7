#!/bin/sh
# Makes a checkout ready to run: the environment .venv with our Python packages, and the Debian packages we call. Called with
# `browser`, also Chromium, which the tests of the display's pages look through.
# Quick when all is there. Where this user may not install, it says in one sentence what to install, and stops.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:/usr/sbin:/sbin" # ldconfig and mosquitto, which an ordinary user's path leaves out
venv=.venv
ready=$venv/.tablectl-ready
oldest='(3, 11)'
systemd=/run/systemd/system # is there where systemd runs
browser=${1:-}

say() { printf 'tablectl: %s\n' "$*" >&2; }
stop() {
    say "$@"
    exit 1
}

# The first Python that is new enough; PYTHON, where set, is asked before all others.
find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c "import sys; sys.exit(sys.version_info < $oldest)" >/dev/null 2>&1; then
            printf '%s' "$name"
            return
        fi
    done
}

# The Debian packages that are not there, each with a blank before it.
missing_packages() {
    if [ -z "$python" ]; then
        printf ' python3 python3-venv'
    elif [ ! -x "$venv/bin/python" ] && ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        printf ' %s-venv' "$python"
    fi
    ldconfig -p 2>/dev/null | grep -q 'libzbar\.so\.0' || printf ' libzbar0'
    command -v mosquitto >/dev/null 2>&1 || printf ' mosquitto'
    command -v systemd-analyze >/dev/null 2>&1 || printf ' systemd'
    [ -z "$browser" ] || command -v chromium >/dev/null 2>&1 || printf ' chromium fonts-dejavu-core'
}

# Debian starts a broker on port 1883 when it installs mosquitto, and again at every boot. We need only the program: systemd's
# unit is masked while the package is installed and disabled after; where there is no systemd, runlevel 1 starts no service.
install_packages() {
    log=$(mktemp)
    broker=
    unit=
    case " $* " in
        *" mosquitto "*) broker=mosquitto ;;
    esac
    [ -z "$broker" ] || [ ! -d "$systemd" ] || unit=mosquitto.service
    say "installing the Debian packages $*"
    [ -z "$unit" ] || $root systemctl mask "$unit" >>"$log" 2>&1 || true
    failed=
    { $root apt-get update &&
        $root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >>"$log" 2>&1 </dev/null || failed=yes
    [ -z "$unit" ] || $root systemctl unmask "$unit" >>"$log" 2>&1 || true
    if [ -n "$failed" ]; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        stop "the Debian packages could not be installed; once apt-get works again, install them: apt-get install $*"
    fi
    [ -z "$unit" ] || $root systemctl disable "$unit" >>"$log" 2>&1 || true
    [ -z "$broker" ] || $root update-rc.d "$broker" disable >>"$log" 2>&1 || true
    rm -f "$log"
}

# What the environment was made from: another pyproject.toml, another folder or another Python makes it anew.
state() {
    printf '%s %s ' "$(pwd -P)" "$("$venv/bin/python" -V 2>&1)"
    sha256sum <pyproject.toml
}

install_python() {
    if ! "$venv/bin/python" -c "import sys, pip; sys.exit(sys.version_info < $oldest)" >/dev/null 2>&1; then
        say "creating the environment $venv"
        "$python" -m venv --clear "$venv" || stop "$python cannot create the environment $venv; see above"
    fi
    say "installing the Python packages"
    pip="$venv/bin/python -m pip --disable-pip-version-check -q"
    $venv/bin/python -c 'import pip, sys; sys.exit([int(part) for part in pip.__version__.split(".")[:2]] < [25, 1])' ||
        $pip install --upgrade 'pip>=25.1' >&2 || stop "pip 25.1 or newer could not be installed; see above"
    $pip install -e . --group dev >&2 || stop "the Python packages could not be installed; see above"
    state >"$ready"
}

python=$(find_python)
if [ -z "$python" ] && command -v python3 >/dev/null 2>&1; then
    stop "install Python 3.11 or newer first; $(python3 -V 2>&1) is too old"
fi
packages=$(missing_packages)
if [ -n "$packages" ]; then
    root=
    if ! command -v apt-get >/dev/null 2>&1; then
        stop "this needs packages that you must install first (by their Debian names):$packages"
    elif [ "$(id -u)" != 0 ]; then
        root='sudo -n'
        $root true >/dev/null 2>&1 || stop "this needs Debian packages that you must install first: sudo apt-get install$packages"
    fi
    # shellcheck disable=SC2086  # one word a package
    install_packages $packages
    python=$(find_python)
fi
if [ ! -f "$ready" ] || [ "$(state)" != "$(cat "$ready")" ]; then
    install_python
fi
