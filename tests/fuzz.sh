#!/usr/bin/env bash
# fuzz.sh TARGET SECONDS [SEED]: a fuzz program from its stored corpus, under limits; what breaks it is left in fuzz/found/.
# The same seed takes the same way, so that a test that passed passes again; without one (or with 0) each run explores anew.
set -uo pipefail
target=$(realpath "$1") seconds=$2 seed=${3:-0} name=$(basename "$1")
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p fuzz/found
corpus=fuzz/corpus/$name
[ -d "$corpus" ] || corpus=
"$target" -seed="$seed" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -verbosity=0 -print_final_stats=0 \
  -artifact_prefix="fuzz/found/$name-" "$scratch" ${corpus:+"$corpus"} >"$scratch.log" 2>&1
rc=$?
[ $rc = 0 ] || tail -n 40 "$scratch.log"
rm -f "$scratch.log"
exit $rc
