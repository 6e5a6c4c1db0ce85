#!/usr/bin/env bash
# Gets what the end-to-end tests of the chart, the image and the release need: helm and a Kubernetes API server
# (built once), etcd and buildah (Debian's), and Prometheus' definition of a ServiceMonitor.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${RUNSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/runspan}

scripts/debian.sh etcd-server buildah iproute2 ca-certificates
scripts/tool-build.sh helm >/dev/null
scripts/tool-build.sh kube-apiserver >/dev/null
scripts/tool-build.sh cyclonedx-gomod >/dev/null

module=github.com/prometheus-operator/prometheus-operator@v0.85.0
definition=$cache/servicemonitors.yaml
if [ ! -f "$definition" ]; then
  folder=$(go mod download -json "$module" | awk -F'"' '$2 == "Dir" {print $4}')
  install -m 0644 "$folder/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" "$definition"
fi
