#!/usr/bin/env bash
# conformance.sh NNEX SHARED: every set must pass at least as many cases as it did and skip no more; nothing else decides.
# CVM's numbers are the same on every instruction set that the machine has, with one thread and with two.
set -uo pipefail
nnex=$1 shared=$2 bad=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
floor() {  # floor NAME STANDARD LEAST SKIPPED PATH OPTION...
  local line
  line=$("$nnex" conform "$2" "$5" --quiet "${@:6}" | tail -n 1)
  echo "  $1: $line (needed $3, $4 skipped)"
  [[ $line =~ ^([0-9]+)\ passed,\ [0-9]+\ failed,\ ([0-9]+)\ skipped$ ]] || { bad=1; return; }
  [ "${BASH_REMATCH[1]}" -ge "$3" ] && [ "${BASH_REMATCH[2]}" -le "$4" ] || bad=1
}
while read -r name standard least skipped path options; do
  case $name in ''|'#'*) continue ;; esac
  # shellcheck disable=SC2086
  floor "$name" "$standard" "$least" "$skipped" "$shared/$path" ${options//SCRATCH/$scratch}
  [ "$name" = cvm ] || continue
  flags=" any $(grep -m 1 '^flags' /proc/cpuinfo) "
  for isa in scalar:any sse4:sse4_2 avx2:avx2 avx512:avx512vl; do
    case $flags in *" ${isa#*:} "*) ;; *) continue ;; esac
    for threads in 1 2; do floor "$name, ${isa%:*}, $threads threads" cvm "$least" "$skipped" "$shared/$path" --isa "${isa%:*}" --threads "$threads"; done
  done
done < "$(dirname "$0")/conformance.floors"
exit $bad
