# Every target that a person needs; `make help` lists them. Settings can be given on the command
# line or in the environment.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Things that are slow to build (Jaeger) or to install (the Python SDK) live outside the tree, so
# that a fresh clone finds them again.
RUNSPAN_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/runspan
export RUNSPAN_CACHE

# The go command asks git for the commit that `go version -m` prints; where git will not answer (an
# archive, a checkout of another user) the build goes on without it.
BUILDVCS := $(if $(shell git rev-parse HEAD 2>/dev/null),true,false)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=$(BUILDVCS) -ldflags '-s -w'
TOOL := go tool -modfile $(CURDIR)/internal/tools/go.mod

##@ Use

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: binaries ## Build bin/otelcol-runspan and bin/runspan: one static file each, no C.

# For the image and the release too: into BIN, for GOOS and GOARCH.
BIN ?= bin
.PHONY: binaries
binaries:
	$(GO_BUILD) -o $(BIN)/ ./cmd/...

.PHONY: run
run: build ## Build and start the collector of configs/local.yaml (Ctrl-C ends it).
	./bin/otelcol-runspan --config configs/local.yaml

.PHONY: demo
demo: build ## Build and start the collector with simulated training runs (Ctrl-C ends it). DEMO="-speed 5" for its options.
	$(GO_BUILD) -o build/ ./test/demo
	./build/demo $(DEMO)

.PHONY: jaeger
jaeger: ## Build (8 minutes the first time) and start a Jaeger: OTLP on 14317 and 14318, pages and API on 16686.
	scripts/jaeger.sh

##@ Work on it

.PHONY: test
test: ## Formatting, lint, generated code, unit tests with the race detector, end-to-end tests. With CI=true also e2e.
	scripts/test.sh

.PHONY: e2e
e2e: build ## The end-to-end tests with every part that is slow to build (Jaeger).
	scripts/e2e.sh full

.PHONY: lint
lint: ## Check formatting and lint rules.
	$(TOOL) golangci-lint run ./...

.PHONY: format
format: ## Format the Go code.
	$(TOOL) golangci-lint fmt ./...

.PHONY: generate
generate: ## Make the generated code anew: the collector's main package and the components' metadata.
	mkdir -p cmd/otelcol-runspan
	$(TOOL) builder --config builder-config.yaml --skip-get-modules --skip-compilation --output-path ./cmd/otelcol-runspan
	gofmt -w cmd/otelcol-runspan
	go generate ./...

.PHONY: ui
ui: ## Build the viewer's page, internal/viewer/ui, into internal/viewer/dist (needs node and npm).
	scripts/ui.sh

.PHONY: bench
bench: build ## Measure speed and memory of the real binary; prints a table of ratios.
	go run ./test/bench

.PHONY: bench-check
bench-check: build ## Fail where a recorded ratio is missed by more than the measured spread, or a goal at all.
	go run ./test/bench -check

##@ Give it away

.PHONY: image
image: ## Build the image for amd64 and arm64 with docker or buildah (IMAGE, IMAGE_ARCHES, IMAGE_PUSH=true).
	scripts/image.sh

.PHONY: chart
chart: ## Check the chart, render its examples anew and pack it into dist/.
	scripts/chart.sh

.PHONY: release
release: ## Make dist/: archives for linux and darwin, checksums, an SBOM, the chart, notes from CHANGELOG.md.
	scripts/release.sh
