#!/usr/bin/env bash
# Installs the Debian packages that it is given and that are missing (a browser, etcd, buildah: parts
# of the end-to-end tests that no Go module holds). Without the rights or off Debian it says what to
# install by hand, and fails.
set -euo pipefail

missing=()
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "missing: ${missing[*]} (on Debian: sudo apt-get install ${missing[*]})" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "${missing[@]}"; }
# The lists of packages may be older than what the mirror still has.
install >&2 || { apt-get update -q >&2 && install >&2; }
