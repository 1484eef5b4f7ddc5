#!/usr/bin/env bash
# cross.sh aarch64|wasm [build|run]: builds the library, the program and tests of every layer for another machine, or runs them
# there; with neither word both.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
machine=${1:-} what=${2:-both}
case $machine in aarch64 | wasm) ;; *) sed -n '2,3s/^# *//p' tests/cross.sh; exit 2 ;; esac
case $what in build | run | both) ;; *) sed -n '2,3s/^# *//p' tests/cross.sh; exit 2 ;; esac
tests="result_test tensor_test rows_test simd_unary_test simd_binary_test simd_convert_test simd_rows_test gemm_test product_i8_test broken_onnx_test readme_test"
build() {
  scripts/prepare build "$machine" && cmake --preset "$machine" -D NNEX_UNIT_TESTS="${tests// /;}" >/dev/null || return 1
  cmake --build --preset "$machine" --target nnex_cli nnex_conform unit_tests >"build/$machine/build.log" 2>&1 && return
  grep -E 'error|FAILED' "build/$machine/build.log" | head -n 20
  return 1
}
run() {
  local bad=0 run program shared standard path answer
  ctest --test-dir "build/$machine" --output-on-failure || bad=1
  if [ "$machine" = wasm ]; then program=(node --no-experimental-fetch build/wasm/bin/nnex.js); else program=(qemu-aarch64 -L /usr/aarch64-linux-gnu build/aarch64/bin/nnex); fi
  run=("${program[@]/bin\/nnex/bin/nnex-conform}")
  "${run[@]}" onnx models/shapes || bad=1
  # The same bytes everywhere: exact networks, and real numbers within their tolerances.
  shared=${NNEX_SHARED:-../shared}
  for stored in "cvm conformance/cvm" "onnx models/onnx/silero_vad" "onnx models/onnx/mnist_dynquant"; do
    read -r standard path <<<"$stored"
    [ -d "$shared/$path" ] || { echo "skipped $path: $shared is absent (set NNEX_SHARED)"; continue; }
    answer=$("${run[@]}" "$standard" "$shared/$path" --quiet 2>&1) || bad=1
    echo "$path: $(tail -n 1 <<<"$answer")"
  done
  if [ -x build/release/bin/nnex ]; then tests/same_bytes.sh build/release/bin/nnex "${program[@]}" || bad=1; else echo "skipped the same bytes: no build/release/bin/nnex"; fi
  return $bad
}
if [ "$what" != run ]; then build || exit; fi
if [ "$what" != build ]; then run; fi
