#!/usr/bin/env bash
# Runs the end-to-end tests against bin/. `full` builds the slow parts (Jaeger, helm, a Kubernetes API
# server) first and makes a missing part a failure; otherwise what is missing is skipped and listed at
# the end.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = full ]; then
  export RUNSPAN_E2E=full
  scripts/tool-build.sh jaeger >/dev/null
  # Parts of the tests of the chart; pods of the doctor's tests are network namespaces.
  if [ "$(uname)" = Linux ]; then scripts/cluster-parts.sh >/dev/null; fi
  # The page's browser; the font is for Chinese text in its screenshots.
  scripts/debian.sh chromium fonts-droid-fallback
fi
scripts/producers.sh >/dev/null
export RUNSPAN_BIN=${RUNSPAN_BIN:-$PWD/bin/otelcol-runspan}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One package at a time: two cores cannot start two collectors, a Jaeger and six Pythons in time.
if ! go test -count=1 -p 1 -v -timeout 40m ./test/e2e/... >"$log" 2>&1; then
  grep -avE '^=== |^ *--- PASS' "$log"
  exit 1
fi
grep -aE '^(--- PASS|ok)' "$log"
awk '/^ +[a-z_]+\.go:[0-9]+: /{reason=$0} / *--- SKIP/{sub(/^ +/, "", reason); print "skipped " $3 ": " reason}' "$log"
