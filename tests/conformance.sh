#!/usr/bin/env bash
# conformance.sh NNEX SHARED: every set must pass at least as many cases as it did; nothing else decides. CVM's numbers are the
# same on every instruction set that the machine has, with one thread and with two.
set -uo pipefail
nnex=$1 shared=$2 bad=0
floor() {  # floor NAME STANDARD LEAST PATH OPTION...
  local line got
  line=$("$nnex" conform "$2" "$4" --quiet "${@:5}" | tail -n 1)
  got=${line%% *}
  echo "  $1: $line (floor $3)"
  [ "${got:-0}" -ge "$3" ] 2>/dev/null || bad=1
}
while read -r name standard least path; do
  case $name in ''|'#'*) continue ;; esac
  floor "$name" "$standard" "$least" "$shared/$path"
  [ "$standard" = cvm ] || continue
  flags=" any $(grep -m 1 '^flags' /proc/cpuinfo) "
  for isa in scalar:any ssse3:ssse3 sse4:sse4_2 avx2:avx2 avx512:avx512vl; do
    case $flags in *" ${isa#*:} "*) ;; *) continue ;; esac
    for threads in 1 2; do floor "$name, ${isa%:*}, $threads threads" cvm "$least" "$shared/$path" --isa "${isa%:*}" --threads "$threads"; done
  done
done < "$(dirname "$0")/conformance.floors"
exit $bad
