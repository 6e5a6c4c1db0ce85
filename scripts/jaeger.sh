#!/usr/bin/env bash
# Starts a Jaeger with its storage in memory. The Go module carries Jaeger's API but not its pages:
# for those take Jaeger's own image or release with the same ports.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(scripts/tool-build.sh jaeger)
echo "Jaeger: OTLP on 127.0.0.1:14317 (gRPC) and :14318 (HTTP), query API on http://127.0.0.1:16686/api" >&2
exec "$program" --config internal/tools/jaeger/jaeger.yaml
