#!/usr/bin/env bash
# Builds the page of the viewer, internal/viewer/ui, into internal/viewer/dist. `check` fails where
# dist is not what the sources make, where the types do not hold, or a unit test of the page fails.
set -euo pipefail
cd "$(dirname "$0")/../internal/viewer/ui"
esbuild() { go tool -modfile ../../tools/go.mod esbuild "$@"; }

if ! command -v npm >/dev/null; then
  [ "${1:-}" = check ] && [ "${CI:-}" != true ] && { echo "skipped: no npm, the page is not checked" >&2; exit 0; }
  echo "the page's sources need node and npm; the committed internal/viewer/dist works without them" >&2
  exit 1
fi
# The marker names the lock file that node_modules was made from.
lock=$(git hash-object package-lock.json)
if [ ! -e "node_modules/.$lock" ]; then
  npm ci --silent >&2
  touch "node_modules/.$lock"
fi

build() { # FOLDER
  mkdir -p "$1"
  # The target is what the oldest browsers with AbortSignal.any and color-mix run (2023).
  esbuild app=src/main.tsx --bundle --minify --format=esm --target=es2022 --jsx=automatic --jsx-import-source=preact \
    --legal-comments=none --charset=utf8 --log-level=warning --outdir="$1"
  cp index.html favicon.svg "$1"
  # What is bundled is under the MIT licence, which wants its text to go along.
  for package in preact @preact/signals @preact/signals-core; do
    printf '%s\n\n' "$package"
    cat "node_modules/$package/LICENSE"
    printf '\n'
  done >"$1/licences.txt"
}

if [ "${1:-}" = check ]; then
  if grep -nE '"resolved"' package-lock.json; then
    echo "package-lock.json names a registry: npm install with the .npmrc beside it" >&2
    exit 1
  fi
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  build "$out/dist"
  diff -rq "$out/dist" ../dist >&2 || { echo "internal/viewer/dist is stale: make ui, and commit it" >&2; exit 1; }
  node_modules/.bin/tsc --noEmit -p .
  esbuild src/lib/*.test.ts --bundle --platform=node --format=esm --out-extension:.js=.mjs --log-level=warning --outdir="$out/test"
  # The folder's zone must not decide whether the tests of times pass.
  TZ=UTC node --test --test-reporter=spec "$out"/test/*.mjs
else
  rm -rf ../dist
  build ../dist
fi
