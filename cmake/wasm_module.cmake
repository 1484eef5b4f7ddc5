# The WebAssembly modules of bindings/js/wasm, by Debian's emscripten 3.1.6: 128-bit vectors, exceptions of WebAssembly itself. The same objects
# make the module with threads and the one without; bindings/js/wasm/link makes modules of them.
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fwasm-exceptions -pthread")
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
