#!/usr/bin/env bash
# conformance.sh NNEX SHARED: every set must pass at least as many cases as it did; nothing else decides.
set -uo pipefail
nnex=$1 shared=$2 bad=0
floor() {  # floor NAME STANDARD LEAST PATH
  local line got
  line=$("$nnex" conform "$2" "$4" --quiet | tail -n 1)
  got=${line%% *}
  echo "  $1: $line (floor $3)"
  [ "${got:-0}" -ge "$3" ] 2>/dev/null || bad=1
}
while read -r name standard least path; do
  case $name in ''|'#'*) continue ;; esac
  floor "$name" "$standard" "$least" "$shared/$path"
done < "$(dirname "$0")/conformance.floors"
exit $bad
