#!/usr/bin/env bash
# Builds a tool with a module of its own, internal/tools/NAME, once and outside the tree, and prints
# the path of the program. The version is the one in its go.mod; the first time on two cores:
#   jaeger          8 minutes
#   kube-apiserver  8 minutes
#   helm            4 minutes
#   cyclonedx-gomod 1 minute
set -euo pipefail
name=$1
cd "$(dirname "$0")/../internal/tools/$name"
cache=${RUNSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/runspan}
read -r package version < <(go list -find -f '{{.ImportPath}} {{.Module.Version}}' tool)
program=$cache/$name-$version
if [ ! -x "$program" ]; then
  echo "building $name $version (minutes, once)" >&2
  mkdir -p "$cache"
  flags='-s -w'
  # Otherwise it says v0.0.0, and charts ask for more.
  [ "$name" = kube-apiserver ] && flags+=" -X k8s.io/component-base/version.gitVersion=$version"
  # Under another name first: a build that is cut off must not look like a program.
  CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$program.part" "$package"
  mv "$program.part" "$program"
fi
echo "$program"
