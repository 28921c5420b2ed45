#!/usr/bin/env bash
# Records the profile by which the compiler optimizes releases: cmd/mayfly/release.pgo, see go build -pgo. Run
# it on an idle machine when the code of requests, queries or writes has changed much. It takes three minutes.
#
# Other builds do not use the profile: with it, go test compiles every package twice.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOFLAGS=-trimpath

work=/tmp/mayfly-profile # the profile contains the path
rm -rf "$work"
mkdir "$work"
profiles=()

# record PACKAGE BENCHMARKS: profiles some benchmarks.
record() {
  local name=${1//\//-}
  go -C "$1" test -run '^$' -bench "$2" -benchtime 2s -cpuprofile "$work/$name.prof" -o "$work/bench.test" .
  profiles+=("$work/$name.prof")
}

record httpapi 'PointRead$/^(mayfly|query)$'
record store '^Benchmark(Create|Sweep|PointReadCold|PointReadRepeated|List1000|CreateBy|QueryBy|OrderByLimit|FeedPage|Bulk)$'
record queue/amqp/bus '^Benchmark(Send|Receive)$/disk'

go tool pprof -proto "${profiles[@]}" >cmd/mayfly/release.pgo
rm -r "$work"
