#!/usr/bin/env bash
# Builds the program for six platforms into a folder, dist by default, with checksums, one
# bill of materials for each, completion scripts, the manual page, the licences, the pages for
# readers and the files of an operator. The same commit and toolchain give the same bytes.
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

# The pages link to each other and name these files, so all keep their places.
mkdir -p "$out/docs" "$out/deploy" "$out/engine/narrate/testdata" "$out/engine/replay" "$out/app/testdata"
cp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md "$out"
cp -r docs/. "$out/docs"
cp engine/replay/forks.tsv "$out/engine/replay"
cp engine/narrate/testdata/headlines.md "$out/engine/narrate/testdata"
cp app/testdata/mcp-transcript.md "$out/app/testdata"
cp -r deploy/monitoring deploy/txlens.service deploy/txlens.toml "$out/deploy"

(cd "$out" && sha256sum "${files[@]}" completion/* txlens.1 ./*.md LICENSE THIRD-PARTY.txt $(find docs deploy engine app -type f | LC_ALL=C sort) >SHA256SUMS)
echo "done: $out/SHA256SUMS"
