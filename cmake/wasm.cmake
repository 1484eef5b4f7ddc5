# WebAssembly with 128-bit vectors, by Debian's emscripten 3.1.6; programs run under Node (scripts/prepare wasm).
# Threads are off: base/threads.cpp then runs every part on the caller.
set(CMAKE_CROSSCOMPILING_EMULATOR node;--no-experimental-fetch)  # its glue fetches file names, which Node 18 refuses
set(CMAKE_CXX_LINKER_LAUNCHER env NODE_PATH=/usr/share/nodejs)   # where Debian keeps acorn
# Own exceptions: the WebAssembly ones of this version lose throws in threaded programs.
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fexceptions")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-fexceptions -O1 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sINITIAL_MEMORY=64MB -sNODERAWFS=1 -sEXIT_RUNTIME=1 -sENVIRONMENT=node")
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
