#!/usr/bin/env bash
# Installs the producers of the end-to-end tests outside the tree and prints their folder: the
# OpenTelemetry SDK for Python in a virtual environment (`python`), the one for JavaScript
# (`node_modules`), and with RUNSPAN_E2E=full or CI=true Ray, which is 250 MB. A new set of versions gets
# a new folder.
set -euo pipefail
cd "$(dirname "$0")/../test/e2e/producers"
cache=${RUNSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/runspan}
folder=$cache/producers-$(cat requirements.txt requirements-ray.txt package.json | git hash-object --stdin | cut -c1-12)

if [ ! -e "$folder/python/ready" ] && command -v python3 >/dev/null; then
  echo "installing the OpenTelemetry SDK for Python" >&2
  python3 -m venv --clear "$folder/python" >&2
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt >&2
  touch "$folder/python/ready"
fi

if { [ "${RUNSPAN_E2E:-}" = full ] || [ "${CI:-}" = true ]; } && [ ! -e "$folder/python/ready-ray" ] &&
  [ -e "$folder/python/ready" ]; then
  echo "installing Ray" >&2
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check -r requirements-ray.txt >&2
  touch "$folder/python/ready-ray"
fi

if [ ! -e "$folder/node_modules/ready" ] && command -v npm >/dev/null; then
  echo "installing the OpenTelemetry SDK for JavaScript" >&2
  mkdir -p "$folder"
  cp package.json "$folder"
  (cd "$folder" && npm install --silent --no-package-lock --no-audit --no-fund >&2)
  touch "$folder/node_modules/ready"
fi
echo "$folder"
