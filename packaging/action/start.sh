#!/usr/bin/env bash
# Fetches a release for the runner, checks its sum, starts a server, waits until it is ready, and tells the steps that
# follow: by outputs, and by MAYFLY_URL and the PATH, so that `mayfly clock --advance 30d` works in them.
# The runner ends the server with the job.
set -euo pipefail

fail() {
  echo "::error::$*"
  exit 1
}

fetch() { curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"; }

# The version that "latest" is: where its address leads to.
version=${INPUT_VERSION#v}
if [ "$version" = latest ]; then
  tag=$(curl --fail --silent --show-error --head --output /dev/null --write-out '%{redirect_url}' "$INPUT_RELEASES/latest")
  version=${tag##*/v}
  [ -n "$version" ] || fail "there is no latest release at $INPUT_RELEASES"
fi

case $(uname -s) in
  Linux) os=linux packed=tar.gz ;;
  Darwin) os=darwin packed=tar.gz ;;
  MINGW* | MSYS* | CYGWIN*) os=windows packed=zip ;;
  *) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  arm64 | aarch64) arch=arm64 ;;
  *) fail "there is no release for $(uname -m)" ;;
esac

folder=$RUNNER_TEMP/mayfly
mkdir -p "$folder"
cd "$folder"
archive=mayfly_${version}_${os}_${arch}.$packed
fetch "$INPUT_RELEASES/download/v$version/$archive" "$archive"
fetch "$INPUT_RELEASES/download/v$version/checksums.txt" checksums.txt
sum=$({ sha256sum "$archive" 2>/dev/null || shasum -a 256 "$archive"; } | cut -d ' ' -f 1)
grep -q "^$sum  $archive\$" checksums.txt || fail "$archive is not what checksums.txt says it is"
if [ "$packed" = zip ]; then unzip -q -o "$archive"; else tar -xzf "$archive"; fi
mayfly=$folder/mayfly
[ "$os" != windows ] || mayfly=$mayfly.exe

flags=(serve --port "$INPUT_PORT")
if [ -n "$INPUT_DATA" ]; then flags+=(--data "$INPUT_DATA"); else flags+=(--memory); fi
[ "$INPUT_VIRTUAL_CLOCK" != true ] || flags+=(--virtual-clock)
[ "$INPUT_SERVICEBUS" != true ] || flags+=(--servicebus)
[ -z "$INPUT_SEED" ] || flags+=(--seed "${GITHUB_WORKSPACE:-.}/$INPUT_SEED")
read -r -a more <<<"$INPUT_ARGS"

greeting=$folder/greeting.txt log=$folder/mayfly.log
flags+=(${more[@]+"${more[@]}"}) # an empty array is none in the bash of macOS
nohup "$mayfly" "${flags[@]}" >"$greeting" 2>"$log" </dev/null &
server=$!

# The greeting is written when the server is ready; its last line tells how to stop it.
for ((i = 0; i < 300; i++)); do
  if grep -q '^  stop ' "$greeting"; then break; fi
  kill -0 "$server" 2>/dev/null || { cat "$log"; fail "the server did not start"; }
  sleep 0.1
done
url=$(sed -n 's/^ *\(endpoint\)\{0,1\} *\(http:[^ ]*\)$/\2/p' "$greeting" | head -n 1)
[ -n "$url" ] || { cat "$greeting" "$log"; fail "the server was not ready in 30 seconds"; }
"$mayfly" health --url "$url"
fetch "${url}_mayfly/cert.pem" cert.pem

{
  echo "endpoint=$url"
  sed -n 's/^  endpoint  *\(https:[^ ]*\)$/https-endpoint=\1/p' "$greeting"
  sed -n 's/^  connection  *\(AccountEndpoint=.*\)$/connection-string=\1/p' "$greeting"
  sed -n 's/^  service bus  *\(Endpoint=[^ ]*\) (messages)$/servicebus-connection-string=\1/p' "$greeting"
  echo "certificate=$folder/cert.pem"
  echo "log=$log"
} >>"$GITHUB_OUTPUT"
echo "MAYFLY_URL=${url%/}" >>"$GITHUB_ENV"
echo "$folder" >>"$GITHUB_PATH"
cat "$greeting"
