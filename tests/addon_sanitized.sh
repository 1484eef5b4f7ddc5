#!/usr/bin/env bash
# addon_sanitized.sh BUILD [PASSED]: the addon of BUILD (clang, address and undefined behaviour sanitizers) in Node: stored cases, of which PASSED must
# pass, hostile and random calls, models. Node itself is not instrumented: what leaks cannot be told. Exit code 77: something is missing, as is said.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:?addon_sanitized.sh: needed BUILD, a folder of the preset sanitize} needed=${2:-1}
[ -e bindings/js/node_modules/node-addon-api/napi.h ] || { echo "bindings/js is not installed (./test --only javascript does)"; exit 77; }
[ -e bindings/js/packages/nnex/dist/index.js ] || { echo "bindings/js is not built (./test --only javascript does)"; exit 77; }
runtime=$(clang++-14 -print-file-name=libclang_rt.asan-x86_64.so)
[ -e "$runtime" ] || { echo "clang's address sanitizer has no library that Node could load (libclang-rt-14-dev)"; exit 77; }
cmake --preset sanitize -DNNEX_NODE=ON >/dev/null && cmake --build "$build" --target nnex_node || exit 1
export NNEX_NODE_ADDON=$PWD/$build/bin/nnex.node NNEX_ENGINE=addon NNEX_SLOW=64
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
log=$(mktemp) bad=0
trap 'rm -f "$log"' EXIT
cd bindings/js || exit 1
run() {  # run NAME COMMAND...
  local name=$1 rc; shift
  LD_PRELOAD=$runtime "$@" >"$log" 2>&1
  rc=$?
  echo "  $name: $(grep -E '^# pass|passed, |calls in' "$log" | tail -n 1)"
  if [ "$name" = "stored cases" ] && [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ [0-9]+\ failed ]] && [ "${BASH_REMATCH[1]}" -ge "$needed" ]; then rc=0; fi
  if [ $rc != 0 ] || grep -qE 'ERROR: AddressSanitizer|runtime error:' "$log"; then
    grep -E -A 12 'ERROR: AddressSanitizer|runtime error:|^not ok' "$log" | head -n 60
    bad=1
  fi
}
for name in model sources outputs hostile; do run "$name" node --test --test-reporter=tap "test/$name.test.mjs"; done
run "random calls" node test/fuzz.mjs --calls 10000
[ ! -d "$NNEX_SHARED/conformance/webnn" ] || run "stored cases" ./conform --host node --quiet "$NNEX_SHARED/conformance/webnn"
exit $bad
