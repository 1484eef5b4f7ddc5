#!/usr/bin/env bash
# conformance.sh NNEX SHARED: every set must pass at least as many cases as it did; nothing else decides.
set -uo pipefail
nnex=$1 shared=$2 bad=0
floor() {  # floor NAME LEAST PATH
  local line got
  line=$("$nnex" conform onnx "$3" --quiet | tail -n 1)
  got=${line%% *}
  echo "  $1: $line (floor $2)"
  [ "${got:-0}" -ge "$2" ] 2>/dev/null || bad=1
}
while read -r name least path; do
  case $name in ''|'#'*) continue ;; esac
  floor "$name" "$least" "$shared/$path"
done < "$(dirname "$0")/conformance.floors"
exit $bad
