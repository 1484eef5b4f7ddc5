# What other languages load: nnex and its face in one file that runs on machines which have neither its libraries nor as new a system. The
# libraries of pictures and regular expressions are left out, and zlib and the C++ library are inside.
find_library(NNEX_STATIC_ZLIB libz.a)
add_library(nnex_layers STATIC EXCLUDE_FROM_ALL ${layer_objects})

# nnex_binding(TARGET SOURCE...): such a module. What is defined for NNEX_OPTIONAL_FILES in other folders does not hold in the caller's.
function(nnex_binding target)
  add_library(${target} MODULE EXCLUDE_FROM_ALL ${ARGN} ${PROJECT_SOURCE_DIR}/bindings/older_glibc.cpp ${NNEX_OPTIONAL_FILES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${nnex_generated_headers})
  # A call does little besides asking the other language, which takes the same time.
  target_compile_options(${target} PRIVATE ${nnex_small})
  target_link_libraries(${target} PRIVATE nnex_layers nnex_dependencies $<$<BOOL:${NNEX_ZLIB}>:${NNEX_STATIC_ZLIB}>)
  # Threads of ours may still run when the last who loaded it ends: it stays in the process.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--exclude-libs,ALL $<$<CONFIG:Release>:-s>)
  if(CMAKE_CXX_FLAGS_DEBUG MATCHES "-fsanitize")
    # For tests (tests/addon_sanitized.sh): the other language's program loads the sanitizer's library before all others, which takes the
    # exceptions of the C++ library that it has too.
    target_link_options(${target} PRIVATE -shared-libsan -fuse-ld=lld)
  else()
    # What unwinds the stack is the system's, which the program has too: this compiler's asks for glibc 2.35.
    target_link_options(${target} PRIVATE -static-libstdc++)
  endif()
endfunction()
