# The WebAssembly module of bindings/js/wasm, by Debian's emscripten 3.1.6: 128-bit vectors, one thread, exceptions of WebAssembly itself.
set(CMAKE_CXX_LINKER_LAUNCHER env NODE_PATH=/usr/share/nodejs)  # where Debian keeps acorn
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fwasm-exceptions")
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
