#!/usr/bin/env bash
# install.sh BUILD: installs the build to a folder of its own, then makes the documents' examples with CMake, README's with pkg-config too, and
# runs them, with the static library and with the shared one; links one without shared libraries; looks at what the shared library shows,
# needs and leaves behind; asks find_package for components and versions; reads the graphs of docs/graph-text.md; configures nnex as a part of another
# project.
set -uo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "  $1"; [ -f "$scratch/log" ] && tail -n 15 "$scratch/log" | sed 's/^/    /'; exit 1; }

cmake --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || fail "cmake --install fails"
mv "$scratch/first" "$scratch/prefix"  # what is installed may be moved
# Documents that headers name are there.
grep -rhoE 'docs/[a-z-]+\.md' "$scratch/prefix/include" | sort -u | while read -r document; do
  [ -n "$(find "$scratch/prefix/share" -path "*/$document")" ] || fail "headers name $document, which is not installed"
done || exit 1
# What the installed README leads to is there.
readme=$(find "$scratch/prefix/share" -name README.md -path '*/nnex/README.md')
grep -oE '\]\([^)#:]+' "$readme" | cut -c3- | sort -u | while read -r link; do
  [ -e "$(dirname "$readme")/$link" ] || fail "the installed README leads to $link, which is not there"
done || exit 1
mkdir "$scratch/app"
example() {  # example DOCUMENT NAME
  awk '/^```cpp/ {on = 1; next} /^```/ {on = 0} on' "$1" >"$scratch/app/$2.cpp"
  grep -q 'int main' "$scratch/app/$2.cpp" || fail "$1 has no example"
}
example README.md main
example docs/webnn.md webnn
example docs/cpp.md cpp
cat >"$scratch/app/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES CXX)
find_package(nnex REQUIRED)
add_executable(example main.cpp)
target_link_libraries(example PRIVATE nnex::nnex)
add_executable(webnn webnn.cpp)
target_link_libraries(webnn PRIVATE nnex::nnex)
add_executable(cpp cpp.cpp)
target_link_libraries(cpp PRIVATE nnex::nnex)
add_executable(shared main.cpp)
target_link_libraries(shared PRIVATE nnex::shared)
add_executable(webnn_shared webnn.cpp)
target_link_libraries(webnn_shared PRIVATE nnex::shared)
CMAKE
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake -S "$scratch/app" -B "$scratch/app/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  >"$scratch/log" 2>&1 || fail "find_package(nnex) fails"
cmake --build "$scratch/app/build" >"$scratch/log" 2>&1 || fail "the examples do not build with CMake"
"$scratch/app/build/example" >"$scratch/cmake.txt" 2>"$scratch/log" || fail "the example built with CMake fails"
[ "$(wc -l <"$scratch/cmake.txt")" = 8 ] || fail "the example printed $(wc -l <"$scratch/cmake.txt") probabilities; needed 8"
[ "$("$scratch/app/build/webnn" 2>"$scratch/log")" = "2 4" ] || fail "the example of docs/webnn.md does not print 2 4"
grep -q 'matmul \[scores\]' "$scratch/log" || grep -q '\[scores\] matmul' "$scratch/log" || fail "the example of docs/webnn.md names no label"
[ "$("$scratch/app/build/cpp" models/shapes/model.onnx 2>"$scratch/log" | paste -sd' ')" = "$(sed -n 's/^The program prints: `\(.*\)`$/\1/p' docs/cpp.md)" ] ||
  fail "the program of docs/cpp.md prints something else"

# The shared library: the same answers, one name for the loader, and nothing but what the headers declare.
"$scratch/app/build/shared" 2>"$scratch/log" | cmp - "$scratch/cmake.txt" || fail "the example with the shared library answers otherwise"
[ "$("$scratch/app/build/webnn_shared" 2>"$scratch/log")" = "2 4" ] || fail "the example of docs/webnn.md with the shared library does not print 2 4"
readelf -d "$scratch/app/build/shared" | grep -q 'NEEDED.*\[libnnex\.so\.0\.1\]' || fail "nnex::shared is not linked as libnnex.so.0.1"
readelf -d "$scratch/app/build/example" | grep -q 'libnnex' && fail "nnex::nnex is not the static library"
library=$(find "$scratch/prefix" -name libnnex.so)
readelf -d "$library" | grep -q 'SONAME.*\[libnnex\.so\.0\.1\]' || fail "libnnex.so has another SONAME"
nm -DC --defined-only "$library" | sed -E 's/^[0-9a-f]* . //; s/@@NNEX_0\.1$//; /^NNEX_0\.1$/d' >"$scratch/symbols"
[ "$(wc -l <"$scratch/symbols")" -gt 150 ] || fail "libnnex.so shows $(wc -l <"$scratch/symbols") symbols; needed more than 150"
# Type information is of a class; of a function its last name counts, without arguments and template parameters.
sed -E 's/^(typeinfo name|typeinfo|vtable) for //; s/\[abi:[a-z0-9]*\]//g; s/::operator [a-z]+\(/::operator(/' "$scratch/symbols" |
  awk '{ out = ""; depth = 0
         for (i = 1; i <= length($0); ++i) { c = substr($0, i, 1)
           if (c == "<") ++depth; else if (c == ">") --depth; else if (c == "(" && depth == 0) break; else if (depth == 0) out = out c }
         n = split(out, part, " "); print part[n] }' | sort -u >"$scratch/names"
while read -r name; do
  case $name in nnex_*) echo "${name%%@*}" >>"$scratch/c_shown"; continue ;; *operator*) continue ;; nnex::*) ;; *) fail "libnnex.so shows $name, which is not of namespace nnex" ;; esac
  case $name in *::ir::* | *_format::* | *::simd::* | *::Impl::*) fail "libnnex.so shows $name, which is the engine's own" ;; esac
  last=${name##*::}
  grep -rqw -- "${last#\~}" "$scratch/prefix/include/nnex" || fail "libnnex.so shows $name, which no public header declares"
done <"$scratch/names"
# Of C, exactly what nnex.h, nnex_graph.h and nnex_webnn.h declare.
grep -h -A 2 '^NNEX_C_API' "$scratch"/prefix/include/nnex*.h | grep -oE '\bnnex_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$scratch/c_declared"
sort -u "$scratch/c_shown" | diff - "$scratch/c_declared" >"$scratch/log" || fail "libnnex.so shows other functions of C than its headers declare"
"${CC:-cc}" -std=c99 -pedantic -Wall -Werror -o "$scratch/c_run" examples/c/run.c $(pkg-config --cflags --libs "$(find "$scratch/prefix" -name nnex.pc)") \
  >"$scratch/log" 2>&1 || fail "examples/c/run.c does not build with a C compiler alone"
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/c_run" models/shapes/model.onnx >"$scratch/log" 2>&1 || fail "examples/c/run.c fails"
grep -q 'output probabilities  f32\[1,8\]' "$scratch/log" || fail "examples/c/run.c prints something else"

# The examples are a project of their own, where they are installed too.
cmake -S "$(dirname "$readme")/examples" -B "$scratch/examples" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/log" 2>&1 &&
  cmake --build "$scratch/examples" >"$scratch/log" 2>&1 && ctest --test-dir "$scratch/examples" >"$scratch/log" 2>&1 || fail "the installed examples do not run"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name nnex.pc)")
# shellcheck disable=SC2046
"$compiler" -std=c++20 -o "$scratch/example" "$scratch/app/main.cpp" $(pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "the example does not build with pkg-config"
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/example" 2>"$scratch/log" | cmp - "$scratch/cmake.txt" || fail "the example built with pkg-config answers otherwise"
# refused STANDARD FILE SENTENCE: the first error of the compiler is one of the headers'.
refused() {
  # shellcheck disable=SC2046
  "$compiler" "-std=$1" -fsyntax-only "$2" $(pkg-config --cflags nnex) >"$scratch/log" 2>&1 && fail "the compiler takes $2 as $1"
  grep -m1 'error:' "$scratch/log" | grep -qF "$3" || fail "the headers do not say '$3'"
}
refused c++17 "$scratch/app/main.cpp" 'nnex needs C++20: compile with -std=c++20'
printf '#define Status int\n#include <nnex/model.h>\n' >"$scratch/x11.cpp"
refused c++20 "$scratch/x11.cpp" 'defines Status as a macro'
readelf -d "$scratch/example" | grep -qF 'libnnex.so.0.1' || fail "pkg-config does not link the shared library"
# shellcheck disable=SC2046
"$compiler" -std=c++20 -static -o "$scratch/static" "$scratch/app/main.cpp" $(pkg-config --static --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "the example does not link with -static"
"$scratch/static" 2>"$scratch/log" | cmp - "$scratch/cmake.txt" || fail "the example linked with -static answers otherwise"

# A plugin that is closed while work is queued: the library stays, as its threads may still run.
readelf -d "$library" | grep -q NODELETE || fail "libnnex.so may be taken out of a process"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -shared -fPIC -o "$scratch/plugin.so" tests/c/plugin.c $(pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 &&
  "${CC:-cc}" -std=c99 -o "$scratch/plugin_host" tests/c/plugin_host.c -ldl >>"$scratch/log" 2>&1 || fail "tests/c/plugin.c does not build"
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/plugin_host" "$scratch/plugin.so" >"$scratch/log" 2>&1 || fail "a plugin that is closed takes code from under threads"

# A host under UBSan: the library has no RTTI, so vptr is the one check that README leaves out.
# shellcheck disable=SC2046
"$compiler" -std=c++20 -fsanitize=undefined -fno-sanitize=vptr -fno-sanitize-recover=all -o "$scratch/sanitized" "$scratch/app/webnn.cpp" \
  $(pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 || fail "the example of docs/webnn.md does not build with -fsanitize=undefined"
[ "$(LD_LIBRARY_PATH=$(dirname "$library") "$scratch/sanitized" 2>"$scratch/log")" = "2 4" ] || fail "UBSan finds faults in the example of docs/webnn.md"

# Every example of docs/graph-text.md is a graph.
mkdir "$scratch/texts"
awk -v to="$scratch/texts/" '/^```graph/ {on = 1; ++n; next} /^```/ {on = 0} on { print >(to n) }' docs/graph-text.md
[ "$(ls "$scratch/texts" | wc -l)" -ge 8 ] || fail "docs/graph-text.md has $(ls "$scratch/texts" | wc -l) examples; needed 8"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -pedantic -Wall -Werror -o "$scratch/graph_text" tests/c/graph_text.c $(pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "tests/c/graph_text.c does not build"
LD_LIBRARY_PATH=$(dirname "$library") "$scratch/graph_text" "$scratch"/texts/* >"$scratch/log" 2>&1 || fail "an example of docs/graph-text.md is no graph"

# A program of C takes the archive too, by pkg-config and from a project without C++.
# shellcheck disable=SC2046
"${CC:-cc}" -std=c99 -static -o "$scratch/c_static" examples/c/run.c $(pkg-config --static --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "examples/c/run.c does not link with -static"
mkdir "$scratch/c_app"
cat >"$scratch/c_app/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(c_app LANGUAGES C)
add_library(m INTERFACE)  # the project's own, which has no part in this
target_link_libraries(m INTERFACE nowhere)
find_package(nnex REQUIRED)
foreach(library nnex shared)
  add_executable(run_\${library} $PWD/examples/c/run.c)
  target_link_libraries(run_\${library} PRIVATE nnex::\${library})
endforeach()
CMAKE
cmake -S "$scratch/c_app" -B "$scratch/c_app/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" 2>&1 &&
  cmake --build "$scratch/c_app/build" >"$scratch/log" 2>&1 || fail "a project of C alone does not link nnex"

# Who takes the shared library needs nothing of what the archive calls: no module of it, not even for --cflags, and nothing of it is named.
pc=$(PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH PKG_CONFIG_PATH='' pkg-config --cflags --libs nnex 2>"$scratch/log") || fail "nnex.pc needs other modules"
[ "$(grep -oE -- '-[IlL][^ ]*' <<<"$pc" | wc -l)" = 3 ] || fail "pkg-config --cflags --libs nnex says more than it needs: $pc"
PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH PKG_CONFIG_PATH='' pkg-config --static --libs nnex 2>"$scratch/log" | grep -qE -- '-lstdc\+\+ -lm *$' ||
  fail "pkg-config --static nnex needs other modules, or does not end with C++'s library"
# A folder of a name with a space.
ln -s prefix "$scratch/pre fix"
eval "$compiler -std=c++20 -o '$scratch/spaced' '$scratch/app/main.cpp' $(PKG_CONFIG_PATH=${PKG_CONFIG_PATH/prefix/pre fix} pkg-config --cflags --libs nnex)" \
  >"$scratch/log" 2>&1 || fail "the example does not build with pkg-config below a folder with a space"

# found LINE ARGUMENT...: configures a project that says LINE and links the targets it then has; what it says stands in the log.
found() {
  mkdir -p "$scratch/found"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(found LANGUAGES CXX)' 'add_library(m INTERFACE)' "$1" 'foreach(target nnex::nnex nnex::shared)' \
    '  if(TARGET ${target})' '    message(STATUS "there is ${target}")' '    string(MAKE_C_IDENTIFIER ${target} name)' \
    "    add_executable(\${name} $scratch/app/main.cpp)" '    target_link_libraries(${name} PRIVATE ${target})' '  endif()' 'endforeach()' >"$scratch/found/CMakeLists.txt"
  rm -rf "$scratch/found/build"
  cmake -S "$scratch/found" -B "$scratch/found/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/pre fix" -DCMAKE_CXX_COMPILER="$compiler" "${@:2}" >"$scratch/log" 2>&1
}
there() { sed -n 's/^-- there is nnex:://p' "$scratch/log" | paste -sd' '; }
said() { tr -s ' \n' ' ' <"$scratch/log" | grep -qE "$1"; }
found 'find_package(nnex REQUIRED)' && [ "$(there)" = 'nnex shared' ] || fail "find_package(nnex) does not find both libraries"
ninja -C "$scratch/found/build" >"$scratch/log" 2>&1 || fail "the package does not serve below a folder with a space"
found 'find_package(nnex 0.1...<0.2 REQUIRED COMPONENTS shared)' && [ "$(there)" = shared ] || fail "the component shared is more or less than nnex::shared"
found 'find_package(nnex 0.1 REQUIRED COMPONENTS static)' && [ "$(there)" = nnex ] || fail "the component static is more or less than nnex::nnex"
found 'find_package(nnex REQUIRED COMPONENTS shared)
find_package(nnex REQUIRED COMPONENTS static)
find_package(nnex REQUIRED)' && [ "$(there)" = 'nnex shared' ] || fail "one library cannot be asked for after the other"
found 'find_package(nnex REQUIRED COMPONENTS shared python)' && fail "find_package(nnex) finds a component 'python'"
said "nnex has no component 'python'; there are: shared, static" || fail "find_package(nnex) does not say which components there are"
found 'find_package(nnex REQUIRED OPTIONAL_COMPONENTS shared python)' && [ "$(there)" = shared ] || fail "an optional component that nnex lacks is needed"
found 'find_package(nnex 0.1...0.9 REQUIRED)' || fail "a range of versions that holds this one is refused"
for versions in 0.2 1.0 0.2...0.9 0.0...0.0.9 0.0...\<0.1; do found "find_package(nnex $versions REQUIRED)" && fail "this version serves as $versions"; done

# Folders as distributions give them: an absolute one of libraries, another one of headers.
cmake -S . -B "$scratch/other" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DNNEX_TESTS=OFF -DNNEX_CLI=OFF \
  -DCMAKE_INSTALL_PREFIX="$scratch/usr" -DCMAKE_INSTALL_LIBDIR="$scratch/lib64" -DCMAKE_INSTALL_INCLUDEDIR=include/nnex-0 >"$scratch/log" 2>&1 &&
  cp -P "$build"/libnnex.* "$scratch/other" && cmake --install "$scratch/other" >"$scratch/log" 2>&1 || fail "cmake --install to other folders fails"
found 'find_package(nnex REQUIRED COMPONENTS shared)' -Dnnex_DIR="$scratch/lib64/cmake/nnex" && ninja -C "$scratch/found/build" >"$scratch/log" 2>&1 ||
  fail "the package does not serve from other folders"
# shellcheck disable=SC2046
"$compiler" -std=c++20 -o "$scratch/from_other" "$scratch/app/main.cpp" $(PKG_CONFIG_PATH=$scratch/lib64/pkgconfig pkg-config --cflags --libs nnex) >"$scratch/log" 2>&1 ||
  fail "nnex.pc does not serve from other folders"

# A machine that lacks a library which the archive calls has the shared one alone, and hears the name from find_package and not from the linker.
if grep -q '^Libs.private: .*-lre2' "$PKG_CONFIG_PATH/nnex.pc"; then
  lacking="nnex::nnex, the static library, needs the library '(re2|png16|jpeg|webp|tiff|z|openjp2)'"
  found 'find_package(nnex REQUIRED)' -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF && [ "$(there)" = shared ] && said "$lacking" ||
    fail "find_package(nnex) does not find the shared library alone where others are missing"
  ninja -C "$scratch/found/build" >"$scratch/log" 2>&1 && "$scratch/found/build/nnex__shared" | cmp - "$scratch/cmake.txt" || fail "the shared library needs others"
  found 'find_package(nnex REQUIRED COMPONENTS static)' -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF && fail "the static library needs none of its libraries"
  said "$lacking" || fail "find_package(nnex) does not say which library is missing"
fi

# As a part of another project nnex is the library alone; what is optional can be left out.
mkdir "$scratch/whole"
cat >"$scratch/whole/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(whole LANGUAGES CXX)
add_subdirectory("$PWD" nnex)
add_executable(example "$scratch/app/main.cpp")
target_link_libraries(example PRIVATE nnex::nnex)
CMAKE
cmake -S "$scratch/whole" -B "$scratch/whole/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug \
  -DNNEX_UNITY=OFF -DNNEX_PICTURES=OFF -DNNEX_RE2=OFF -DNNEX_ZLIB=OFF >"$scratch/log" 2>&1 || fail "add_subdirectory(nnex) fails"
for option in NNEX_TESTS NNEX_CLI; do
  grep -q "^$option:BOOL=OFF" "$scratch/whole/build/CMakeCache.txt" || fail "$option is on inside another project"
done
ninja -C "$scratch/whole/build" -t commands example >"$scratch/commands" 2>"$scratch/log" || fail "the whole has no target 'example'"
grep -qE '_test\b|lib(re2|png|z)\b' "$scratch/commands" && fail "tests or libraries that were left out are built into the whole"
grep -oE '[^ ]*/(regex|picture_[a-z0-9]*|gzip)\.cpp\.o' "$scratch/commands" | sort -u >"$scratch/objects"
[ "$(wc -l <"$scratch/objects")" = 8 ] || fail "found $(wc -l <"$scratch/objects") files that optional libraries serve; needed 8"
xargs ninja -C "$scratch/whole/build" <"$scratch/objects" >"$scratch/log" 2>&1 || fail "what is optional cannot be left out"

"$scratch/prefix/bin/nnex" check models/shapes/model.onnx >"$scratch/log" 2>&1 || fail "the installed program fails"
for file in bash-completion/completions/nnex zsh/site-functions/_nnex fish/vendor_completions.d/nnex.fish man/man1/nnex.1; do
  [ -s "$scratch/prefix/share/$file" ] || fail "share/$file is not installed"
done
