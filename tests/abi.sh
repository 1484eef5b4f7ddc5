#!/usr/bin/env bash
# abi.sh BUILD [--write]: whether programs that were linked against the C interface of tests/abi/nnex.abi still run with today's: no function
# gone, no argument, struct or enumeration changed. What is new is told and is no failure; --write makes it the baseline of the next release.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?abi.sh: needed BUILD, a folder of the release build} baseline=tests/abi/nnex.abi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The functions of C alone, with what debug information says of their types.
echo '{ global: nnex_*; local: *; };' >"$scratch/map"
printf '%s\n' src/c/*.cpp | xargs -P "$(nproc)" -I {} sh -c 'g++ -std=c++20 -g -O0 -fPIC -fvisibility=hidden -Iinclude -Isrc -I"$1/generated" -c {} -o "$2/$(basename {}).o"' - "$build" "$scratch"
g++ -shared -Wl,--version-script="$scratch/map" "$scratch"/*.o -o "$scratch/libnnex.so"
abidw --headers-dir include --drop-private-types --drop-undefined-syms --no-corpus-path --no-comp-dir-path --no-show-locs \
  --exported-interfaces-only --out-file "$scratch/nnex.abi" "$scratch/libnnex.so"
if [ "${2:-}" = --write ]; then mkdir -p tests/abi; cp "$scratch/nnex.abi" $baseline; exit; fi
grep -q "name='nnex_version'" "$scratch/nnex.abi" || { echo "the interface that was made has no nnex_version"; exit 1; }
abidiff --no-added-syms $baseline "$scratch/nnex.abi" || { echo "A program built against the last release breaks: see above. tests/abi.sh BUILD --write accepts it, with a new SONAME."; exit 1; }
abidiff $baseline "$scratch/nnex.abi" | grep -E "^ *\[A\]" || true
