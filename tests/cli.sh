#!/usr/bin/env bash
# cli.sh NNEX: exit codes and messages of the command line, as a user meets them.
set -uo pipefail
nnex=$1 bad=0
model=$(dirname "$0")/../models/shapes/model.onnx
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
expect() {  # expect CODE TEXT COMMAND...
  local code=$1 text=$2; shift 2
  local out; out=$("$@" 2>&1); local got=$?
  if [ $got != "$code" ] || ! grep -qF -- "$text" <<<"$out"; then
    echo "  $*: exit $got (needed $code), '$text' in:"; sed 's/^/    /' <<<"$out" | head -n 8; bad=1
  fi
}
expect 0 "sound" "$nnex" check "$model"
expect 0 "picture" "$nnex" inspect "$model"
expect 0 '"nnex.inspect/1"' "$nnex" inspect "$model" --json
expect 0 "probabilities" "$nnex" run "$model" --random
expect 2 "input 'picture' is missing" "$nnex" run "$model"
expect 2 "no input 'image'" "$nnex" run "$model" --input image=x.npy
expect 2 "" "$nnex" run
expect 3 "cannot open" "$nnex" run nowhere.onnx --random
echo "[[1,2],[3,4]]" > "$scratch/wrong.json"
expect 2 "needed f32[N,3,32,32]" "$nnex" run "$model" --input "$scratch/wrong.json"
head -c 5000 "$model" > "$scratch/cut.onnx"
expect 3 "length runs past the end" "$nnex" run "$scratch/cut.onnx" --random
expect 1 "length runs past the end" "$nnex" check "$scratch/cut.onnx"
expect 0 "median_ms" "$nnex" bench "$model" --seconds 0.1 --json
expect 0 "Conv" "$nnex" profile "$model" --seconds 0.1
expect 0 "softmax" "$nnex" ops
expect 0 "threads" "$nnex" env
expect 2 "no symbol 'M'" "$nnex" run "$model" --random --set M=2
expect 0 "f32[2,8]" "$nnex" run "$model" --random --set N=2
exit $bad
