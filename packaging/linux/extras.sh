#!/bin/sh
# Writes what packages have beside the binary into packaging/out: completions of shells, and man pages.
set -e
cd "$(dirname "$0")/../.."
out=packaging/out
rm -rf "$out"
mkdir -p "$out/completions" "$out/man"
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT
CGO_ENABLED=0 go build -o "$binary" ./cmd/mayfly
for shell in bash zsh fish; do
  "$binary" completion "$shell" >"$out/completions/mayfly.$shell"
done
"$binary" completion powershell >"$out/completions/mayfly.ps1"
if "$binary" help | grep -q '^ *man '; then
  "$binary" man "$out/man"
  gzip -n -9 "$out"/man/*.1
fi
