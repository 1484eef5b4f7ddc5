# cmake --install: headers, the static and the shared library, the program with its manual page and completions, a CMake
# package (nnex::nnex is the static library, nnex::shared the other) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nnex)
install(TARGETS nnex EXPORT nnexTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET nnex_shared)
  install(TARGETS nnex_shared EXPORT nnexTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES include/nnex.h include/nnex_graph.h include/nnex_webnn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/nnex ${nnex_generated_headers}/nnex DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT nnexTargets NAMESPACE nnex:: DESTINATION ${package_dir})
configure_package_config_file(cmake/nnexConfig.cmake.in ${PROJECT_BINARY_DIR}/nnexConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nnexConfig.cmake ${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake
  DESTINATION ${package_dir})
# Relative to its own folder, so that the installation can be moved.
file(RELATIVE_PATH NNEX_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(JOIN NNEX_PC_REQUIRES " " NNEX_PC_REQUIRES)
list(JOIN NNEX_PC_LIBRARIES " " NNEX_PC_LIBRARIES)
configure_file(cmake/nnex.pc.in ${PROJECT_BINARY_DIR}/nnex.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nnex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(NNEX_CLI)
  install(TARGETS nnex_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NNEX_TESTS)  # its cases are in the source tree
    install(TARGETS nnex_conform RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  endif()
  if(TARGET nnex_manual)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} OPTIONAL)
  endif()
endif()
