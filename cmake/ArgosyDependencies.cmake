# Everything from outside, found once, as one target each. Distribution packages only.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(leveldb CONFIG REQUIRED)
find_package(hwy CONFIG REQUIRED)
# Kernels are compiled for three instruction sets: AVX-512, AVX2, and what every machine has. Those between are processors
# of before 2013. Every user of Highway must agree.
set_property(TARGET hwy::hwy APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
if(NOT TARGET re2::re2)  # what gRPC's own targets call it
  add_library(re2::re2 ALIAS PkgConfig::re2)
endif()
pkg_check_modules(icu REQUIRED IMPORTED_TARGET icu-uc)
pkg_check_modules(gif REQUIRED IMPORTED_TARGET libgif)
find_library(FARMHASH_LIBRARY farmhash REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
find_package(Eigen3 CONFIG REQUIRED NO_MODULE)
if(ARGOSY_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# oneDNN's own CMake config insists on OpenCL; we need the library alone.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
add_library(argosy_dnnl INTERFACE)
target_link_libraries(argosy_dnnl INTERFACE ${DNNL_LIBRARY})
target_include_directories(argosy_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})

# oneDNN runs on GNU's OpenMP; our own loops share its team, whatever compiler builds us.
find_library(GOMP_LIBRARY NAMES libgomp.so.1 REQUIRED)
