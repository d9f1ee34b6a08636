#!/bin/sh
# Install a missing system package when running as root on Debian; otherwise print what to install.
# Usage: system-packages.sh venv | chromium | postgresql
set -eu
case "$1" in
    venv) package=python3-venv; present() { "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null; } ;;
    chromium) package=chromium; present() { command -v chromium >/dev/null 2>&1; } ;;
    postgresql) package=postgresql; present() { ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1; } ;;
    *) echo "system-packages.sh: unknown package '$1'" >&2; exit 2 ;;
esac
present && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $package (Debian package)"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    if apt-get update -qq >"$log" 2>&1 && apt-get install -y -qq --no-install-recommends "$package" >>"$log" 2>&1 && present; then
        rm -f "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
fi
echo "upwell needs the system package '$package': install it (Debian: apt-get install $package) and run make again" >&2
exit 1
