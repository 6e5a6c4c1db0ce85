#!/usr/bin/env bash
# Builds Jaeger once, outside the tree, and prints the path of the program. Its version is the one
# in internal/tools/jaeger/go.mod. About 8 minutes on two cores the first time.
set -euo pipefail
cd "$(dirname "$0")/../internal/tools/jaeger"
cache=${RUNSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/runspan}
version=$(go list -m -f '{{.Version}}' github.com/jaegertracing/jaeger)
program=$cache/jaeger-$version
if [ ! -x "$program" ]; then
  echo "building Jaeger $version (about 8 minutes on two cores, once)" >&2
  mkdir -p "$cache"
  # Under another name first: a build that is cut off must not look like a program.
  CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$program.part" github.com/jaegertracing/jaeger/cmd/jaeger
  mv "$program.part" "$program"
fi
echo "$program"
