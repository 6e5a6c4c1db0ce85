#!/usr/bin/env bash
# Checks the chart, renders its examples anew (charts/runspan/examples/*/rendered.yaml, which the
# end-to-end tests compare and validate) and packs the chart into dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=$(scripts/tool-build.sh helm)
chart=charts/runspan

"$helm" lint --strict --quiet "$chart"
for values in "$chart"/examples/*/values.yaml; do
  "$helm" lint --strict --quiet "$chart" --values "$values"
  "$helm" template runspan "$chart" --namespace tracing --values "$values" >"$(dirname "$values")/rendered.yaml"
done
"$helm" package "$chart" --destination dist
