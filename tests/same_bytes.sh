#!/usr/bin/env bash
# same_bytes.sh NNEX COMMAND...: what nnex promises to be the same on every machine, by a program of this machine and by one of
# another (`node build/wasm/bin/nnex.js`): networks of codes, their whole numbers, and floats computed portably.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
here=$1; shift
there=("$@") bad=0 compared=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
same() {  # same WHAT FILE FILE: files or folders
  compared=$((compared + 1))
  diff -rq "$2" "$3" >"$scratch/diff" 2>&1 || { echo "  $1 differs:"; head -n 6 "$scratch/diff"; bad=1; }
}
# both NAME ARGUMENT...: the command on both; OUT in an argument is another file on each.
both() {
  local name=$1; shift
  "$here" "${@/OUT/$scratch/here.$name}" >"$scratch/here.$name.said" 2>&1 || { echo "  $name fails here:"; tail -n 4 "$scratch/here.$name.said"; bad=1; }
  "${there[@]}" "${@/OUT/$scratch/there.$name}" >"$scratch/there.$name.said" 2>&1 || { echo "  $name fails there:"; tail -n 4 "$scratch/there.$name.said"; bad=1; }
}
hashes() {  # hashes NAME MODEL ARGUMENT...: the outputs' SHA-256
  local name=$1; shift
  both "$name" run --hash "$@"
  for side in here there; do grep -o 'sha256 .*' "$scratch/$side.$name.said" >"$scratch/$side.$name.hash"; done
  [ -s "$scratch/here.$name.hash" ] || { echo "  $name shows no hash"; bad=1; }
  same "$name" "$scratch/here.$name.hash" "$scratch/there.$name.hash"
}

shapes=$PWD/models/shapes
echo "$shapes/test_data_set_0" >"$scratch/samples"
for form in q.onnx:onnx q.nnef:nnef q.cvm:cvm; do
  name=${form%:*}
  both "$name" quantize "$shapes/model.onnx" -o OUT --to "${form#*:}" --set N=1 --calibrate "$scratch/samples" --no-judge -q
  same "$name" "$scratch/here.$name" "$scratch/there.$name"
done
both int4.onnx quantize "$shapes/model.onnx" -o OUT --weights int4 --no-judge -q
same int4.onnx "$scratch/here.int4.onnx" "$scratch/there.int4.onnx"
hashes whole "$scratch/here.q.cvm" --random --exact
hashes shapes "$shapes/model.onnx" --random --portable --set N=2
for network in depthwise transformer; do hashes $network models/small/$network.onnx --random --portable --set N=2; done
shared=${NNEX_SHARED:-../shared}
for network in mnist_8 nnsplit_bidi_lstm silero_vad magika_v3_3; do
  folder=$shared/models/onnx/$network
  [ -d "$folder" ] || { echo "skipped $network: $shared is absent (set NNEX_SHARED)"; continue; }
  hashes $network "$folder/model.onnx" -i "$folder/test_data_set_0" --portable
done
echo "the same bytes: $compared compared"
exit $bad
