#!/usr/bin/env bash
# sanitized.sh NNEX SHARED: stored cases under sanitizers. Which pass is conformance.sh's to say; here nothing may trap.
set -uo pipefail
nnex=$1 shared=$2 bad=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for cases in "$shared/conformance/onnx/node.tar.xz" "$shared/conformance/onnx/simple.tar.xz" "$shared"/models/onnx/{silero_vad,mnist_dynquant,xgboost_classifier_tree}; do
  [ -e "$cases" ] || continue
  "$nnex" conform onnx "$cases" --quiet >"$log" 2>&1
  rc=$?
  echo "  $(basename "$cases"): $(tail -n 1 "$log")"
  if [ $rc -gt 1 ] || grep -qE 'ERROR: (Address|Leak)Sanitizer|runtime error:' "$log"; then
    grep -E -A 12 'ERROR: (Address|Leak)Sanitizer|runtime error:' "$log" | head -n 40
    bad=1
  fi
done
exit $bad
