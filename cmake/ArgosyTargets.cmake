# The only CMake logic of the project: one function per kind of target.

# Flags every target of ours shares.
add_library(argosy_flags INTERFACE)
target_compile_features(argosy_flags INTERFACE cxx_std_20)
target_compile_options(argosy_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -fvisibility-inlines-hidden
  $<$<BOOL:${ARGOSY_WERROR}>:-Werror>
  # libstdc++ 12 deprecates what its own stable_sort calls. The plug-in has its own copy of each virtual table, by which
  # clang otherwise tells a final class.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wno-deprecated-declarations -Wno-pass-failed -fno-assume-unique-vtables>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict>)
target_include_directories(argosy_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
if(NOT ARGOSY_SANITIZE AND NOT ARGOSY_FUZZ)
  # SECURITY.md. Position-independent code, and programs, are the default below. _GLIBCXX_ASSERTIONS is left out: its
  # cost was not measured.
  target_compile_options(argosy_flags INTERFACE
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
  target_link_options(argosy_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
if(ARGOSY_SANITIZE)
  target_compile_options(argosy_flags INTERFACE -fsanitize=${ARGOSY_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(argosy_flags INTERFACE -fsanitize=${ARGOSY_SANITIZE})
endif()
if(ARGOSY_FUZZ)
  target_compile_options(argosy_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_compile_definitions(argosy_flags INTERFACE FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(ARGOSY_PRECOMPILE)
  # -pthread: some targets have it from the libraries they use.
  # ggc-min-heapsize: what is precompiled fills the heap half, and g++ would look through it for garbage once a file.
  target_compile_options(argosy_flags INTERFACE -pthread
                         $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-fpch-preprocess$<SEMICOLON>--param=ggc-min-heapsize=262144>)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the source folder, so that every checkout and worktree shares one cache.
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(ARGOSY_PRECOMPILE)
    # What ccache asks for with precompiled headers; and their checksums, which it would compute for every file, from beside
    # them (scripts/rebuild_precompiled.sh).
    list(APPEND launcher CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1)
  endif()
  list(APPEND launcher ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(FAST_LINKER ld.gold)  # takes two thirds of the time of the default for a test program

# Headers read once for all targets: two thirds of the time of a small file is its headers. What is precompiled holds for
# one set of flags; a target with others has a kind of its own, and a target that does not fit is an error.
function(argosy_precompiled target kind)  # … then the flags of that kind
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT ARGOSY_PRECOMPILE OR (ARGOSY_SANITIZE STREQUAL "thread" AND libraries MATCHES "argosy_(cluster_)?proto"))
    return()  # the messages have flags of their own under thread sanitizer
  endif()
  set(source argosy_precompiled_${kind})
  if(NOT TARGET ${source})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${source}.cc CONTENT "// For its headers.\n")
    add_library(${source} OBJECT ${PROJECT_BINARY_DIR}/${source}.cc)
    target_link_libraries(${source} PRIVATE argosy_flags)
    target_compile_options(${source} PRIVATE ${ARGN})
    target_precompile_headers(${source} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
    set(launcher ${PROJECT_SOURCE_DIR}/scripts/rebuild_precompiled.sh ${CMAKE_CXX_COMPILER_LAUNCHER})  # perhaps no ccache
    set_target_properties(${source} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    if(kind STREQUAL "test")
      set_target_properties(${source} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # as the programs have it: -fPIE differs
      target_precompile_headers(${source} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
      target_compile_definitions(${source} PRIVATE GTEST_HAS_PTHREAD=1)
    endif()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE AND NOT kind STREQUAL "test")  # quoted: callers may have a variable of that name
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # -fPIC, as the library has it, not -fPIE
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${source})
endfunction()

# argosy_quick(target …): code beside the hot path (commands, readers of files, what tests stand on) is compiled for a quick
# build; -O1 takes two thirds of the time of -O3.
function(argosy_quick)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    argosy_precompiled(${target} engine)
    argosy_unity(${target})
  endforeach()
endfunction()

# argosy_library(tensor SOURCES tensor.cc … DEPS argosy_base … LIBS dnnl OPTIONS -f…): one folder, one target, one layer.
# QUICK: as argosy_quick(). ALONE: its files are never compiled together (cmake/ArgosyUnity.cmake).
# Every *_test.cc of the folder, of the folders its sources lie in and of its folder tests/ goes into one test program,
# <name>_test.
function(argosy_library name)
  cmake_parse_arguments(A "QUICK;ALONE" "" "SOURCES;DEPS;LIBS;OPTIONS;TEST_DEPS" ${ARGN})
  add_library(argosy_${name} STATIC ${A_SOURCES})
  target_link_libraries(argosy_${name} PUBLIC argosy_flags ${A_DEPS} PRIVATE ${A_LIBS})
  if(A_OPTIONS)
    target_compile_options(argosy_${name} PRIVATE ${A_OPTIONS})
    argosy_precompiled(argosy_${name} ${name} ${A_OPTIONS})
  elseif(A_QUICK)
    argosy_quick(argosy_${name})
  else()
    argosy_precompiled(argosy_${name} engine)
  endif()
  if(NOT A_ALONE AND NOT A_QUICK)
    argosy_unity(argosy_${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY ARGOSY_LIBRARIES argosy_${name})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc ${CMAKE_CURRENT_SOURCE_DIR}/tests/*_test.cc)
  foreach(source IN LISTS A_SOURCES)
    get_filename_component(folder ${source} DIRECTORY)
    if(folder AND NOT IS_ABSOLUTE "${folder}")
      list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cc)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES patterns)
  file(GLOB tests CONFIGURE_DEPENDS ${patterns})
  argosy_test(${name} SOURCES ${tests} DEPS argosy_${name} ${A_TEST_DEPS})
endfunction()

# Seconds that a test may take; sanitizers are slow by factors.
set(ARGOSY_TEST_SECONDS 300)
set(ARGOSY_LONG_TEST_SECONDS 600)  # of those that train models
if(ARGOSY_SANITIZE)
  set(ARGOSY_TEST_SECONDS 2400)
  set(ARGOSY_LONG_TEST_SECONDS 3600)
endif()

# How tests are compiled.
function(argosy_compile_test target)
  if(ARGOSY_PRECOMPILE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -O1)  # the engine is what is tested as it is used
  endif()
  argosy_precompiled(${target} test -O1)
  argosy_unity(${target})
endfunction()

# argosy_test_objects(session_tests SOURCES a_test.cc … DEPS …): tests that several programs link.
function(argosy_test_objects name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ARGOSY_TESTS)
    return()
  endif()
  add_library(${name} OBJECT ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock)
  argosy_compile_test(${name})
endfunction()

# argosy_test_program(passes SOURCES a_test.cc … DEPS …): passes_test, which ctest does not know yet.
function(argosy_test_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name}_test ${A_SOURCES})
  if(ARGOSY_PRECOMPILE AND FAST_LINKER)
    target_link_options(${name}_test PRIVATE -fuse-ld=gold)
  endif()
  target_link_libraries(${name}_test PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main)
  argosy_compile_test(${name}_test)
endfunction()

# argosy_test(passes SOURCES a_test.cc … DEPS … ARGUMENTS --flag …): nothing happens without sources.
function(argosy_test name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;ARGUMENTS" ${ARGN})
  if(NOT ARGOSY_TESTS OR NOT A_SOURCES)
    return()
  endif()
  argosy_test_program(${name} SOURCES ${A_SOURCES} DEPS ${A_DEPS})
  add_test(NAME ${name} COMMAND ${name}_test ${A_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARGOSY_TEST_SECONDS})
endfunction()

# Tests that write down what they tried, for `op_cases` and `tf_ops`, which run after them.
set(ARGOSY_OP_CASES ${PROJECT_BINARY_DIR}/op_cases)
function(argosy_op_cases test)
  set_tests_properties(${test} PROPERTIES FIXTURES_SETUP op_cases
    ENVIRONMENT "ARGOSY_DUMP_CASES=${ARGOSY_OP_CASES}/;ARGOSY_DUMP_OPS=${ARGOSY_OP_CASES}/ops.json")
endfunction()

# argosy_kernels_on_host(name SOURCES a.cu …): CUDA sources compiled by the host's compiler into a shared object, for the
# fake driver (argosy/device/cuda/fake/on_host.h). Beside it its twin <name>_watched.so, which tells of every access to
# memory (watched.cc there); not where the address sanitizer looks at the same accesses.
function(argosy_kernels_on_host name)
  cmake_parse_arguments(A "" "" "SOURCES" ${ARGN})
  add_library(${name} MODULE ${A_SOURCES})
  set_source_files_properties(${A_SOURCES} PROPERTIES LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE argosy_flags)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(ARGOSY_SANITIZE MATCHES "address")
    return()
  endif()
  set(fake ${PROJECT_SOURCE_DIR}/argosy/device/cuda/fake)
  if(NOT TARGET argosy_watched)
    add_library(argosy_watched OBJECT ${fake}/watched.cc)
    target_link_libraries(argosy_watched PRIVATE argosy_flags)
    target_compile_options(argosy_watched PRIVATE -O1)
    set_source_files_properties(${fake}/watched.cc PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)  # after all other flags
  endif()
  add_library(${name}_watched MODULE ${A_SOURCES} $<TARGET_OBJECTS:argosy_watched>)
  target_link_libraries(${name}_watched PRIVATE argosy_flags)
  target_compile_options(${name}_watched PRIVATE -O1 -g1 -fsanitize=thread,alignment)
  target_compile_definitions(${name}_watched PRIVATE ARGOSY_WATCHED)
  add_dependencies(${name} ${name}_watched)
endfunction()

# Kernels of kind "cuda", from what argosy_op_families() found. Host side (<family>_cuda.cc): argosy_kernels_cuda, which the
# plug-in and the tests link; the generated list calls the add_kernels_cuda_<family> of each family that has one. Device
# side: every .cu file of argosy/ops, listed in the global property ARGOSY_CUDA_SOURCES for whoever compiles them with nvcc;
# for the fake driver all of them are one shared object, argosy_kernels_on_host.
function(argosy_cuda_kernels)
  set(list "// Written by cmake/ArgosyTargets.cmake: families with kernels for GPUs.\n")
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(family ${folder} NAME)
    if(source MATCHES "/${family}/${family}_cuda\\.cc$")
      string(APPEND list "OP_FAMILY(${family})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/argosy/ops/cuda_families.inc CONTENT "${list}" @ONLY)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*_cuda.cu ${CMAKE_CURRENT_SOURCE_DIR}/*/*/*_cuda.cu)
  set_property(GLOBAL PROPERTY ARGOSY_CUDA_SOURCES ${sources})
  set(modules "// Written by cmake/ArgosyTargets.cmake: the names of the modules of kernels.\n")
  foreach(source IN LISTS sources)
    get_filename_component(module ${source} NAME_WE)
    string(REGEX REPLACE "_cuda$" "" module ${module})
    string(APPEND modules "CUDA_MODULE(${module})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/argosy/ops/cuda_modules.inc CONTENT "${modules}" @ONLY)
  # What stands before every generated kernel, as one literal.
  set(prelude "")
  foreach(header ${PROJECT_SOURCE_DIR}/argosy/device/cuda/kernels/numbers.h
                 ${PROJECT_SOURCE_DIR}/argosy/device/cuda/kernels/vec.h
                 ${CMAKE_CURRENT_SOURCE_DIR}/elementwise/gpu/functions_cuda.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX REPLACE "#pragma once|#include \"[^\n]*" "" text "${text}")
    string(APPEND prelude "R\"argosy(${text})argosy\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/argosy/ops/elementwise/fused/fused_prelude.inc CONTENT "@prelude@" @ONLY)
  add_library(argosy_kernels_cuda STATIC EXCLUDE_FROM_ALL kernels_cuda.cc gpu_kernels_cuda.cc ${ARGN})
  target_link_libraries(argosy_kernels_cuda PUBLIC argosy_kernels_cpu argosy_comm_native_gpu argosy_device)
  argosy_quick(argosy_kernels_cuda)
  if(ARGOSY_TESTS)
    argosy_kernels_on_host(argosy_kernels_on_host SOURCES ${sources})
  endif()
endfunction()

# argosy_op_families(constant softmax …): every family of argosy/ops. Definitions go into argosy_ops (what graph passes and
# planners link), kernels into argosy_kernels_cpu; the generated list calls each family's define_ and add_kernels_cpu_,
# and argosy/argosy.h brings each family's <family>.h to users.
function(argosy_op_families)
  set(list "// Written by cmake/ArgosyTargets.cmake from argosy/ops/CMakeLists.txt.\n")
  set(headers "// What users call of every op family. Written by cmake/ArgosyTargets.cmake.\n#pragma once\n\n")
  foreach(family IN LISTS ARGN)
    string(APPEND list "OP_FAMILY(${family})\n")
    string(APPEND headers "#include \"argosy/ops/${family}/${family}.h\"\n")
    file(GLOB all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${family}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/${family}/*/*.cc)
    foreach(source IN LISTS all)
      if(source MATCHES "_test\\.cc$")
        list(APPEND tests_${family} ${source})
      elseif(source MATCHES "_cuda[a-z0-9_]*\\.cc$")
        list(APPEND cuda ${source})
      elseif(source MATCHES "_cpu[a-z0-9_]*\\.cc$")
        list(APPEND cpu ${source})
      else()
        list(APPEND definitions ${source})
      endif()
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/argosy/ops/families.inc CONTENT "${list}" @ONLY)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/argosy/ops/families.h CONTENT "${headers}" @ONLY)
  argosy_cuda_kernels(${cuda})
  # Compiled for a quick build: what runs while graphs are built, kernels that keep books rather than compute, and (a
  # little) those whose time is not their loops', or whose fast sisters serve the common dtypes.
  string(REPLACE ";" "|" quick "${ARGOSY_QUICK_KERNELS}")
  string(REPLACE ";" "|" plain "${ARGOSY_PLAIN_KERNELS}")
  set(quick_cpu ${cpu})
  set(plain_cpu ${cpu})
  list(FILTER quick_cpu INCLUDE REGEX "/ops/(${quick})/([a-z0-9_]*/)?[a-z0-9_]*\\.cc$")
  list(FILTER plain_cpu INCLUDE REGEX "/(ops/(${plain})/([a-z0-9_]*/)?[a-z0-9_]*|[a-z]*/(reference_[a-z0-9_]*|${plain}))\\.cc$")
  list(REMOVE_ITEM cpu ${quick_cpu} ${plain_cpu})
  set(libraries hwy::hwy Eigen3::Eigen PkgConfig::re2 PkgConfig::icu ${FARMHASH_LIBRARY} ZLIB::ZLIB)
  # Kernels read neither errno nor the floating-point exception flags: loops with sqrt and guarded divisions become
  # vectors.
  set(options -fno-math-errno -fno-trapping-math)
  set(optimise_quick -O1)
  set(optimise_plain -O2)
  argosy_library(ops QUICK SOURCES ops.cc ${definitions} op_rows.cc handle_ops.cc sharding_parts.cc DEPS argosy_graph)
  if(ARGOSY_SANITIZE MATCHES "undefined")
    # Its checks of virtual calls want the type of every class that a header has pointers to, a device's events among them.
    target_link_libraries(argosy_ops INTERFACE argosy_device)
  endif()
  argosy_library(kernels_cpu ALONE SOURCES kernels_cpu.cc evaluate.cc ${cpu}
                 DEPS argosy_comm argosy_ops argosy_graph argosy_op argosy_onednn argosy_data argosy_formats
                 LIBS ${libraries} OPTIONS ${options})
  foreach(level quick plain)
    add_library(argosy_kernels_${level} OBJECT ${${level}_cpu})
    target_link_libraries(argosy_kernels_${level} PRIVATE argosy_flags argosy_ops argosy_onednn argosy_data argosy_formats
                                                          ${libraries})
    target_compile_options(argosy_kernels_${level} PRIVATE ${options} $<$<CONFIG:Release>:${optimise_${level}}>)
    argosy_precompiled(argosy_kernels_${level} kernels_cpu ${options})
    argosy_unity(argosy_kernels_${level})
    target_sources(argosy_kernels_cpu PRIVATE $<TARGET_OBJECTS:argosy_kernels_${level}>)
    set_property(GLOBAL APPEND PROPERTY ARGOSY_OBJECTS argosy_kernels_${level})
  endforeach()
  if(ARGOSY_PRECOMPILE)
    # Of the others only those that argosy/ops/CMakeLists.txt names: they would instantiate the same large templates.
    set_target_properties(argosy_kernels_cpu PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
  # A test program per family, ops_<family>_test, so that work on one does not build the tests of all.
  foreach(family IN LISTS ARGN)
    argosy_test(ops_${family} SOURCES ${tests_${family}} DEPS argosy_testing)
    if(TEST ops_${family})
      argosy_op_cases(ops_${family})
    endif()
  endforeach()
endfunction()

# A filter of gtest without the tests that a file lists: a pattern, and the reason, a line.
function(argosy_filter_of left_out filter)
  file(STRINGS ${left_out} lines REGEX "^[A-Z*]")
  set(patterns "-")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " .*" "" test "${line}")
    string(APPEND patterns "${test}:")
  endforeach()
  set(${filter} ${patterns} PARENT_SCOPE)
endfunction()
