# Libraries outside the project, each behind one interface target (DESIGN section 8).
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
find_path(FAST_FLOAT_INCLUDE fast_float/fast_float.h REQUIRED)

add_library(nnex_dependencies INTERFACE)
target_link_libraries(nnex_dependencies INTERFACE fmt::fmt-header-only nlohmann_json::nlohmann_json Threads::Threads)
