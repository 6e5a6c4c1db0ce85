#!/usr/bin/env bash
# Builds the image for amd64 and arm64 (or the architectures in IMAGE_ARCHES) with docker or buildah
# (or the one that IMAGE_BUILDER names), and tags it IMAGE:VERSION-ARCH. No registry is asked for
# anything; IMAGE_PUSH=true pushes the images and the list of them, IMAGE:VERSION.
set -euo pipefail
cd "$(dirname "$0")/.."

image=${IMAGE:-ghcr.io/runspan/runspan}
version=${IMAGE_VERSION:-$(scripts/version.sh)}
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
# A docker command without a daemon behind it builds nothing.
builder=${IMAGE_BUILDER:-$(docker version >/dev/null 2>&1 && echo docker || echo buildah)}
command -v "$builder" >/dev/null || {
  echo "missing: docker with its daemon, or buildah (on Debian: sudo apt-get install buildah)" >&2
  exit 1
}

context=$(mktemp -d build/image.XXXXXX)
trap 'rm -rf "$context"' EXIT
chmod 0755 "$context"
mkdir -p "$context/common/etc/ssl/certs" "$context/common/etc/runspan" "$context/volumes/traces"
cp configs/local.yaml "$context/common/etc/runspan/config.yaml"
cp LICENSE "$context/common/LICENSE"
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
  if [ -f "$bundle" ]; then
    cp -L "$bundle" "$context/common/etc/ssl/certs/ca-certificates.crt"
    break
  fi
done
[ -f "$context/common/etc/ssl/certs/ca-certificates.crt" ] || {
  echo "no certificates of authorities on this machine (on Debian: sudo apt-get install ca-certificates)" >&2
  exit 1
}

tags=()
for arch in ${IMAGE_ARCHES:-amd64 arm64}; do
  GOOS=linux GOARCH=$arch make --no-print-directory binaries BIN="$context/linux/$arch" >&2
  chmod 0755 "$context/linux/$arch"/*
  tag=$image:$version-$arch
  case $builder in
    docker) build=(docker build) ;;
    *) build=("$builder" build --format oci) ;;
  esac
  "${build[@]}" --platform "linux/$arch" --build-arg "TARGETARCH=$arch" \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
    --tag "$tag" --file Dockerfile "$context" >&2
  tags+=("$tag")
done

if [ "${IMAGE_PUSH:-}" = true ]; then
  for tag in "${tags[@]}"; do "$builder" push "$tag" >&2; done
  "$builder" manifest create "$image:$version" "${tags[@]}" >&2
  "$builder" manifest push "$image:$version" "docker://$image:$version" >&2
fi
printf '%s\n' "${tags[@]}"
