#!/usr/bin/env bash
# What `make test` does: generated code, formatting and lint, unit tests with the race detector, the
# end-to-end tests. With CI=true nothing is skipped, and the slow parts (Jaeger) are built too.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "generated code is current"
# Whatever a generator wrote, by what it says at its top or by where it puts it.
generated() {
  git ls-files -co --exclude-standard -- 'cmd/otelcol-runspan/*.go' '*generated_*' '*/documentation.md' |
    sort | xargs sha256sum
}
before=$(generated)
make --no-print-directory generate >/dev/null
if [ "$before" != "$(generated)" ]; then
  diff <(echo "$before") <(generated) || true
  echo "generated code was stale and has been made anew: look at it and commit it" >&2
  exit 1
fi
go mod tidy -diff
go mod verify >/dev/null

step "the viewer's page"
scripts/ui.sh check

step "formatting and lint"
make --no-print-directory lint

step "unit tests"
# The distribution's own package links every component; under the race detector that alone takes
# minutes, and it has no concurrency of its own.
go test ./cmd/...
go list ./... | grep -vE '/(cmd|test/e2e)(/|$)' | xargs go test -race -timeout 20m

step "end-to-end tests"
make --no-print-directory build
if [ "${CI:-}" = true ]; then
  scripts/e2e.sh full
else
  scripts/e2e.sh
fi
