#!/usr/bin/env bash
# install.sh BUILD: installs the build to a folder of its own, then makes the documents' examples with CMake, README's with pkg-config too, and
# runs them.
set -uo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "  $1"; [ -f "$scratch/log" ] && tail -n 15 "$scratch/log" | sed 's/^/    /'; exit 1; }

cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || fail "cmake --install fails"
mv "$scratch/first" "$scratch/prefix"  # what is installed may be moved
mkdir "$scratch/app"
example() {  # example DOCUMENT NAME
  awk '/^```cpp/ {on = 1; next} /^```/ {on = 0} on' "$1" >"$scratch/app/$2.cpp"
  grep -q 'int main' "$scratch/app/$2.cpp" || fail "$1 has no example"
}
example README.md main
example docs/webnn.md webnn
cat >"$scratch/app/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES CXX)
find_package(nnex REQUIRED)
add_executable(example main.cpp)
target_link_libraries(example PRIVATE nnex::nnex)
add_executable(webnn webnn.cpp)
target_link_libraries(webnn PRIVATE nnex::nnex)
CMAKE
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake -S "$scratch/app" -B "$scratch/app/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  >"$scratch/log" 2>&1 || fail "find_package(nnex) fails"
cmake --build "$scratch/app/build" >"$scratch/log" 2>&1 || fail "the examples do not build with CMake"
"$scratch/app/build/example" >"$scratch/cmake.txt" 2>"$scratch/log" || fail "the example built with CMake fails"
[ "$(wc -l <"$scratch/cmake.txt")" = 8 ] || fail "the example printed $(wc -l <"$scratch/cmake.txt") probabilities; needed 8"
[ "$("$scratch/app/build/webnn" 2>"$scratch/log")" = "2 4" ] || fail "the example of docs/webnn.md does not print 2 4"
grep -q 'matmul \[scores\]' "$scratch/log" || grep -q '\[scores\] matmul' "$scratch/log" || fail "the example of docs/webnn.md names no label"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name nnex.pc)")
# shellcheck disable=SC2046
"$compiler" -std=c++20 -o "$scratch/example" "$scratch/app/main.cpp" $(pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "the example does not build with pkg-config"
"$scratch/example" 2>"$scratch/log" | cmp - "$scratch/cmake.txt" || fail "the example built with pkg-config answers otherwise"

"$scratch/prefix/bin/nnex" check models/shapes/model.onnx >"$scratch/log" 2>&1 || fail "the installed program fails"
