# Of a build: what its compiled caches (src/run/compiled_cache.h) may be read by. cmake -P with ROOT (the repository), BUILD (what the compiler is and
# is told) and OUT (a file that has it as a C string).
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/*.cpp ${ROOT}/src/*.h ${ROOT}/src/*.def ${ROOT}/include/*.h)
list(SORT files)
set(all "${BUILD}")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} sum)
  string(APPEND all "${file} ${sum}\n")
endforeach()
string(SHA256 fingerprint "${all}")
file(WRITE ${OUT} "\"${fingerprint}\"\n")
