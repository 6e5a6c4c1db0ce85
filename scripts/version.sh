#!/usr/bin/env bash
# Prints the version of the release that this tree is, or will be: the one in builder-config.yaml.
set -euo pipefail
cd "$(dirname "$0")/.."
awk '/^dist:/ {dist = 1} dist && $1 == "version:" {print $2; exit}' builder-config.yaml
