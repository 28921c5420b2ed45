#!/usr/bin/env bash
# Runs the action's script against a release in a folder, as a runner would, and asks the server that it has started.
#
#   test.sh [BINARY]     BINARY is built where it is not given
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT

version=0.0.1-test
release=$work/releases/download/v$version
archive=mayfly_${version}_$(go env GOOS)_$(go env GOARCH).tar.gz
mkdir -p "$release" "$work/temp" "$work/binary"
if [ -n "${1:-}" ]; then
  cp "$1" "$work/binary/mayfly"
else
  (cd "$root" && CGO_ENABLED=0 go build -ldflags "-s -w -X main.released=$version" -o "$work/binary/mayfly" ./cmd/mayfly)
fi
tar -C "$work/binary" -czf "$release/$archive" mayfly
(cd "$release" && sha256sum "$archive" >checksums.txt)

run() {
  env "$@" INPUT_VERSION=v$version INPUT_PORT=0 INPUT_VIRTUAL_CLOCK=true INPUT_SERVICEBUS=true INPUT_SEED= INPUT_DATA= \
    INPUT_ARGS="--servicebus-port 0 --servicebus-admin-port 0 --servicebus-tls-port off --servicebus-admin-tls-port off" \
    INPUT_RELEASES="file://$work/releases" RUNNER_TEMP="$work/temp" \
    GITHUB_OUTPUT="$work/output" GITHUB_ENV="$work/env" GITHUB_PATH="$work/path" ./start.sh
}

run
server=$(pgrep -f "^$work/temp/mayfly/mayfly serve")
# shellcheck disable=SC1091
. "$work/env"
PATH=$(cat "$work/path"):$PATH
export MAYFLY_URL PATH
for output in endpoint https-endpoint connection-string servicebus-connection-string certificate log; do
  grep -q "^$output=." "$work/output" || { echo "no output $output"; exit 1; }
done
mayfly version
mayfly databases create app
mayfly clock --advance 720h
curl --fail --silent --cacert "$(sed -n 's/^certificate=//p' "$work/output")" \
  "$(sed -n 's/^https-endpoint=//p' "$work/output")_mayfly/readyz"
echo

echo "something else" >>"$release/$archive"
if run INPUT_PORT=0 >"$work/refused"; then
  echo "an archive with a wrong sum is taken"
  exit 1
fi
grep "is not what checksums.txt says" "$work/refused"
