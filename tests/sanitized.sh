#!/usr/bin/env bash
# sanitized.sh NNEX SHARED: stored cases under sanitizers. Which pass is conformance.sh's to say; here nothing may trap.
set -uo pipefail
nnex=$1 shared=$2 bad=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {  # run STANDARD PATH
  [ -e "$shared/$2" ] || return
  "$nnex" conform "$1" "$shared/$2" --quiet >"$log" 2>&1
  local rc=$?
  echo "  $(basename "$2"): $(tail -n 1 "$log")"
  if [ $rc -gt 1 ] || grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error:' "$log"; then
    grep -E -A 12 'ERROR: (Address|Leak)Sanitizer|runtime error:' "$log" | head -n 40
    bad=1
  fi
}
for cases in conformance/onnx/{node,simple}.tar.xz models/onnx/{silero_vad,mnist_dynquant,xgboost_classifier_tree}; do run onnx "$cases"; done
for standard in nnef webnn cvm; do run "$standard" "conformance/$standard"; done
exit $bad
