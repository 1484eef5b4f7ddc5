# cmake --install: headers, the static library, the program, a CMake package (nnex::nnex) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nnex)
install(TARGETS nnex EXPORT nnexTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/nnex DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT nnexTargets NAMESPACE nnex:: DESTINATION ${package_dir})
configure_package_config_file(cmake/nnexConfig.cmake.in ${PROJECT_BINARY_DIR}/nnexConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nnexConfig.cmake ${PROJECT_BINARY_DIR}/nnexConfigVersion.cmake
  DESTINATION ${package_dir})
# Relative to its own folder, so that the installation can be moved.
file(RELATIVE_PATH NNEX_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
list(TRANSFORM NNEX_OPTIONAL_LIBRARIES PREPEND -l OUTPUT_VARIABLE NNEX_PC_LIBRARIES)
list(JOIN NNEX_PC_LIBRARIES " " NNEX_PC_LIBRARIES)
configure_file(cmake/nnex.pc.in ${PROJECT_BINARY_DIR}/nnex.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nnex.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(NNEX_CLI)
  install(TARGETS nnex_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
