// The kernels of kind "cuda" and their compiled images, which the plug-in brings in addition to devices. They come from
// every family of argosy/ops that has a <family>_cuda.cc or <family>_cuda.cu (cmake/ArgosyTargets.cmake).
#pragma once

#include <span>

#include "argosy/device/cuda/cuda_device.h"

namespace argosy {

// Calls add_kernels_cuda_<family>(kernels) of every family that has one (argosy/ops/kernels_cuda.cc).
void add_cuda_kernels(KernelRegistry& kernels);

// The same for the plug-in. It takes the CPU's kernels from `kernels`, the registry of the program
// (argosy/ops/plugin_kernels.cc).
void add_plugin_kernels(KernelRegistry& kernels);

}  // namespace argosy

namespace argosy::cuda {

// Which implementation makes the sums of these devices (argosy/comm/native_gpu/collective_facts.cc).
CollectiveFacts collective_facts(const std::vector<CudaDevice*>& devices, bool deterministic);

// The images of all .cu files; generated, where nvcc is installed.
std::span<const ModuleImage> module_images();

}  // namespace argosy::cuda
