#!/usr/bin/env bash
# Builds the program for six platforms into a folder, dist by default, with checksums, one
# bill of materials for each, completion scripts, the manual page and the licences. The same commit and
# toolchain give the same bytes.
#
#   deploy/release.sh [FOLDER] [PLATFORM...]     # platforms such as linux/amd64; default all six
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-dist}
shift || true
platforms=("$@")
if [ ${#platforms[@]} = 0 ]; then
  platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

files=()
for platform in "${platforms[@]}"; do
  os=${platform%/*} arch=${platform#*/}
  name=txlens_${os}_${arch}
  [ "$os" != windows ] || name+=.exe
  echo "build $name"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -ldflags='-s -w' -o "$out/$name" ./cmd/txlens
  go run ./internal/sbom "$out/$name" >"$out/$name.cdx.json"
  files+=("$name" "$name.cdx.json")
done

mkdir -p "$out/completion"
for shell in bash zsh fish; do
  go run ./cmd/txlens completion "$shell" >"$out/completion/txlens.$shell"
done
go run ./cmd/txlens man >"$out/txlens.1"
cp LICENSE "$out/LICENSE"
go run ./cmd/txlens licenses >"$out/THIRD-PARTY.txt"

(cd "$out" && sha256sum "${files[@]}" completion/* txlens.1 LICENSE THIRD-PARTY.txt >SHA256SUMS)
echo "done: $out/SHA256SUMS"
