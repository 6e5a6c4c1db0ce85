#!/usr/bin/env bash
# Makes everything of a release in dist/ (or DIST): an archive for each platform with both programs, the
# configurations and the licence; a list of the modules in each program (SBOM, CycloneDX); the chart; the
# notes, from CHANGELOG.md; and the checksums. The same commit gives the same bytes (the chart aside).
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(scripts/version.sh)
sbom=$(scripts/tool-build.sh cyclonedx-gomod)
# Files are as old as the commit.
when=$(git log -1 --format=%cI 2>/dev/null || echo 1970-01-01T00:00:00Z)
tar --version | grep -q GNU || {
  echo "missing: GNU tar, for archives that do not depend on who makes them" >&2
  exit 1
}

dist=${DIST:-dist}
rm -rf "$dist" build/release
mkdir -p "$dist"
for platform in ${RELEASE_PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  os=${platform%/*} arch=${platform#*/}
  name=runspan_${version}_${os}_${arch}
  folder=build/release/$name
  GOOS=$os GOARCH=$arch make --no-print-directory binaries BIN="$folder" >&2
  cp -r LICENSE README.md README.zh-CN.md CHANGELOG.md configs "$folder"
  tar --create --directory build/release --sort=name --owner=0 --group=0 --numeric-owner --mode='u+rw,go+r,go-w' \
    --mtime="$when" "$name" | gzip -n -9 >"$dist/$name.tar.gz"
  for program in otelcol-runspan runspan; do
    "$sbom" bin -json -std -noserial -notimestamp -version "v$version" \
      -output "$dist/${program}_${version}_${os}_${arch}.cdx.json" "$folder/$program" 2>/dev/null
  done
done
"$(scripts/tool-build.sh helm)" package charts/runspan --destination "$dist" >&2

# The section of this version, or of what is not released yet.
section=$(grep -qE "^## \[?${version//./\\.}\b" CHANGELOG.md && echo "$version" || echo Unreleased)
awk -v section="$section" '
  /^## / {inside = (index($2, section) == 1 || index($2, "[" section) == 1); next}
  inside' CHANGELOG.md >"$dist/notes.md"
[ -s "$dist/notes.md" ] || {
  echo "CHANGELOG.md has no section $version and none Unreleased: write what users notice" >&2
  exit 1
}

(cd "$dist" && sha256sum -- *.tar.gz *.cdx.json *.tgz >checksums.txt)
ls -l "$dist" >&2
