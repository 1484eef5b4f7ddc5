# cmake --install: headers, the static and the shared library, the program with its manual page and completions, a CMake
# package (nnex::nnex is the static library, nnex::shared the other) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nnex)
# A component each: who takes the shared library needs none of what the archive calls.
install(TARGETS nnex EXPORT nnex_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT nnex_static NAMESPACE nnex:: FILE nnexStaticTargets.cmake DESTINATION ${package_dir})
set(NNEX_COMPONENTS static)
if(TARGET nnex_shared)
  install(TARGETS nnex_shared EXPORT nnex_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT nnex_shared NAMESPACE nnex:: FILE nnexSharedTargets.cmake DESTINATION ${package_dir})
  list(PREPEND NNEX_COMPONENTS shared)
endif()
install(FILES include/nnex.h include/nnex_graph.h include/nnex_webnn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/nnex ${nnex_generated_headers}/nnex DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_package_config_file(cmake/nnexConfig.cmake.in ${PROJECT_BINARY_DIR}/nnexConfig.cmake
  INSTALL_DESTINATION ${package_dir})
configure_file(cmake/nnexConfigVersion.cmake.in ${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nnexConfig.cmake ${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake
  DESTINATION ${package_dir})
# Relative to its own folder, so that the installation can be moved; folders that are given as absolute ones stay.
file(RELATIVE_PATH NNEX_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" NNEX_PC_TO_PREFIX ${NNEX_PC_TO_PREFIX})
foreach(folder LIBDIR INCLUDEDIR)
  cmake_path(APPEND NNEX_PC_${folder} "\${prefix}" "${CMAKE_INSTALL_${folder}}")
endforeach()
list(JOIN NNEX_PC_LIBRARIES " " NNEX_PC_LIBRARIES)
configure_file(cmake/nnex.pc.in ${PROJECT_BINARY_DIR}/nnex.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nnex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples deploy DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN deploy/test EXCLUDE PATTERN deploy/capacity EXCLUDE)  # which need tests and programs of the sources
install(DIRECTORY models DESTINATION ${CMAKE_INSTALL_DOCDIR})  # what README and the documents run
# Headers lie elsewhere there, and sources nowhere.
file(READ README.md readme)
file(RELATIVE_PATH readme_include /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_INCLUDEDIR})
if(IS_ABSOLUTE "${CMAKE_INSTALL_DOCDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  file(RELATIVE_PATH readme_include ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
endif()
string(REPLACE "](include/" "](${readme_include}/" readme "${readme}")
string(REGEX REPLACE "\\[([^]]*)\\]\\((CONTRIBUTING.md|(src|bindings|bench|tests)/[^)]*)\\)" "\\1" readme "${readme}")
file(WRITE ${PROJECT_BINARY_DIR}/installed/README.md "${readme}")
install(FILES ${PROJECT_BINARY_DIR}/installed/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS README.md)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.json")
if(NNEX_CLI)
  install(TARGETS nnex_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NNEX_TESTS)  # its cases are in the source tree
    install(TARGETS nnex_conform RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  endif()
  if(TARGET nnex_manual)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} OPTIONAL)
  endif()
endif()
