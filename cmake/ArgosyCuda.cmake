# The CUDA plug-in, libargosy_cuda.so: built where nvcc is and ARGOSY_CUDA says so. Kernels are compiled to fat binaries by
# plain calls of nvcc, embedded, and loaded by the driver's interface: neither CMake's CUDA language nor the CUDA runtime
# takes part. The device side has no vendor header; nvcc is all that is needed to build it. A kernel that spills registers
# or has more static shared memory than any GPU grants is an error; an architecture that a later nvcc will drop is none.
option(ARGOSY_CUDA "Build the CUDA plug-in, where nvcc is" OFF)
set(ARGOSY_CUDA_ARCHITECTURES "" CACHE STRING
    "Compute capabilities of the plug-in's kernels, such as 75;80;90;100; empty: 75, 80, 90 and 100, of these what nvcc knows")
if(NOT ARGOSY_CUDA)
  return()
endif()

find_program(ARGOSY_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
if(NOT ARGOSY_NVCC)
  message(WARNING "CUDA plug-in: left out, nvcc is not found. Put it on PATH, or set CUDA_HOME.")
  return()
endif()
execute_process(COMMAND ${ARGOSY_NVCC} --list-gpu-code OUTPUT_VARIABLE known RESULT_VARIABLE failed)
if(failed)
  message(WARNING "CUDA plug-in: left out, ${ARGOSY_NVCC} does not run.")
  return()
endif()
execute_process(COMMAND ${ARGOSY_NVCC} --version OUTPUT_VARIABLE release)
string(REGEX REPLACE ".*release ([0-9]+)\\..*" "\\1" release "${release}")
set(architectures ${ARGOSY_CUDA_ARCHITECTURES})
if(NOT architectures)
  foreach(arch 75 80 90 100)
    if(known MATCHES "sm_${arch}[\r\n ]")
      list(APPEND architectures ${arch})
    endif()
  endforeach()
endif()
list(GET architectures 0 oldest)
# A toolkit before 12 has no C++20, and each one knows host compilers up to a version: better no plug-in than no build.
file(WRITE ${PROJECT_BINARY_DIR}/argosy/nvcc_probe.cu "template <typename T> concept Any = true;\ntemplate <Any T> __device__ T twice(T x) { return x + x; }\nextern \"C\" __global__ void probe(float* x) { *x = twice(*x); }\n")
execute_process(COMMAND ${ARGOSY_NVCC} -cubin -arch=sm_${oldest} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER}
                        -o ${PROJECT_BINARY_DIR}/argosy/nvcc_probe.cubin ${PROJECT_BINARY_DIR}/argosy/nvcc_probe.cu
                RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(failed)
  message(WARNING "CUDA plug-in: left out, ${ARGOSY_NVCC} does not compile C++20 with ${CMAKE_CXX_COMPILER}; CUDA 12 or newer is needed. It says: ${said}")
  return()
endif()
list(GET architectures -1 newest)
set(targets "")
foreach(arch IN LISTS architectures)
  list(APPEND targets -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
list(APPEND targets -gencode arch=compute_${newest},code=compute_${newest})  # for GPUs to come
message(STATUS "CUDA plug-in: ${ARGOSY_NVCC}, architectures ${architectures}")

# One image for each .cu file: its name, and where in the library it lies.
get_property(sources GLOBAL PROPERTY ARGOSY_CUDA_SOURCES)
set(folder ${PROJECT_BINARY_DIR}/argosy/cuda)
file(MAKE_DIRECTORY ${folder})
set(declarations "")
set(rows "")
set(images "")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_cuda$" "" name ${name})
  set(image ${folder}/${name}.fatbin)
  add_custom_command(OUTPUT ${image}
    COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/CompileKernels.cmake
            ${ARGOSY_NVCC} -fatbin ${targets} -std=c++20 -O3 -lineinfo -Xfatbin=-compress-all --Werror all-warnings
            -Wno-deprecated-gpu-targets -ccbin ${CMAKE_CXX_COMPILER} -I${PROJECT_SOURCE_DIR} -MD -MF ${image}.d -o ${image} ${source}
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/CompileKernels.cmake DEPFILE ${image}.d COMMENT "nvcc ${name}" VERBATIM)
  list(APPEND images ${image})
  string(APPEND declarations "asm(\".section .nv_fatbin, \\\"a\\\"\\n.balign 16\\n.hidden argosy_image_${name}\\n.global argosy_image_${name}\\n\"\n    \"argosy_image_${name}:\\n.incbin \\\"${image}\\\"\\n.previous\\n\");\nextern \"C\" const char argosy_image_${name}[];\n")
  string(APPEND rows "    {\"${name}\", argosy_image_${name}},\n")
endforeach()
file(CONFIGURE OUTPUT ${folder}/module_images.cc @ONLY CONTENT
"// Written by cmake/ArgosyCuda.cmake.
#include \"argosy/device/cuda/kernels/kernels.h\"

@declarations@
namespace argosy::cuda {

std::span<const ModuleImage> module_images() {
  static const ModuleImage images[] = {
@rows@  };
  return images;
}

}  // namespace argosy::cuda
")
set_source_files_properties(${folder}/module_images.cc PROPERTIES OBJECT_DEPENDS "${images}")

add_library(argosy_cuda MODULE ${PROJECT_SOURCE_DIR}/argosy/device/cuda/plugin_entry.cc
            ${PROJECT_SOURCE_DIR}/argosy/ops/plugin_kernels.cc ${folder}/module_images.cc)
target_compile_definitions(argosy_cuda PRIVATE ARGOSY_CUDA_OLDEST=${oldest} ARGOSY_CUDA_RELEASE=${release})
target_link_libraries(argosy_cuda PRIVATE argosy_device_cuda argosy_kernels_cuda)
target_link_options(argosy_cuda PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/argosy_cuda.map
                    LINKER:--as-needed LINKER:-z,defs)
set_target_properties(argosy_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/argosy_cuda.map)
# Vendor headers, where they are, hold our declarations to theirs.
find_path(ARGOSY_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(ARGOSY_CUDA_INCLUDE)
  target_sources(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/argosy/device/cuda/driver/driver_api_check.cc)
  if(EXISTS ${ARGOSY_CUDA_INCLUDE}/nvml.h)
    target_sources(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/argosy/device/cuda/driver/nvml_calls_check.cc)
  endif()
  if(EXISTS ${ARGOSY_CUDA_INCLUDE}/cublasLt.h)
    target_sources(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/argosy/device/cuda/dnn/blas_calls_check.cc)
  endif()
  if(EXISTS ${ARGOSY_CUDA_INCLUDE}/cudnn.h)
    target_sources(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/argosy/device/cuda/dnn/dnn_calls_check.cc)
  endif()
  if(EXISTS ${ARGOSY_CUDA_INCLUDE}/nccl.h)
    target_sources(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/argosy/comm/nccl/nccl_calls_check.cc)
  endif()
  target_include_directories(argosy_cuda SYSTEM PRIVATE ${ARGOSY_CUDA_INCLUDE})
endif()

include(GNUInstallDirs)
install(TARGETS argosy_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
