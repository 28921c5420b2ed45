#!/usr/bin/env bash
# Packs the npm packages with a binary of this machine, installs them from their files alone, and runs the tests there.
#
#   run.sh [BINARY]     BINARY is built where it is not given
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
binary=${1:-}
if [ -z "$binary" ]; then
  binary=$work/mayfly
  (cd "$root" && CGO_ENABLED=0 go build -ldflags "-s -w -X main.released=0.0.1-test" -o "$binary" ./cmd/mayfly)
fi
node ../pack.mjs "$work/packed" 0.0.1-test "$(go env GOOS)/$(go env GOARCH)=$binary"
mkdir "$work/app"
cp mayfly.test.cjs "$work/app"
cd "$work/app"
npm init --yes >/dev/null
npm install --offline --no-audit --no-fund --cache "$work/cache" "$work"/packed/*.tgz
node --test "$PWD/mayfly.test.cjs"
