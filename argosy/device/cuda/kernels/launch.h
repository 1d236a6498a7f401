// Launches a kernel from an op's run(): device, grid, arguments.
//
//   Status relu(KernelContext& c) {
//     ARGOSY_ASSIGN_OR_RETURN(Tensor * y, c.output(0, c.input(0).shape(), {0}));
//     const auto n = c.input(0).elements();
//     return cuda::launch(c, {"activation", "relu_float"}, cuda::grid_for(n), c.input(0).data<float>(),
//     y->data<float>(), n);
//   }
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/kernels/numbers.h"
#include "argosy/tensor/dtype.h"

namespace argosy::cuda {

struct KernelName {
  std::string_view module, kernel;
};

// The device that a kernel of kind "cuda" runs on.
inline CudaDevice& device_of(Device& device) { return static_cast<CudaDevice&>(device.physical()); }

// The suffix of a dtype in kernel names: "f32". Empty: there is none.
inline std::string_view type_suffix(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "f32";
    case DType::kFloat64: return "f64";
    case DType::kFloat16: return "f16";
    case DType::kBfloat16: return "bf16";
    case DType::kInt8: return "i8";
    case DType::kInt16: return "i16";
    case DType::kInt32: return "i32";
    case DType::kInt64: return "i64";
    case DType::kUint8: return "u8";
    case DType::kUint16: return "u16";
    case DType::kUint32: return "u32";
    case DType::kUint64: return "u64";
    case DType::kBool: return "bool";
    default: return "";
  }
}

// As type_suffix(), with complex numbers: "c64" is two f32.
inline std::string_view number_suffix(DType dtype) {
  if (dtype == DType::kComplex64) return "c64";
  return dtype == DType::kComplex128 ? "c128" : type_suffix(dtype);
}

// One thread for each of n elements: at most `kMostBlocks` blocks of 256 threads, whose threads loop. n = 0 gives no
// blocks, and launch() then does nothing.
inline constexpr unsigned kBlock = kMostThreads;
inline constexpr std::int64_t kMostBlocks = 1 << 16;
inline LaunchShape grid_for(std::int64_t n, unsigned block = kBlock) {
  const std::int64_t blocks = n <= 0 ? 0 : std::min<std::int64_t>((n + block - 1) / block, kMostBlocks);
  return {.grid = {.x = static_cast<unsigned>(blocks)}, .block = {.x = block}};
}
// The same where a thread processes a vec of neighbours (vec.h). `widest`: bytes of the widest element that the kernel
// reads or writes.
inline LaunchShape grid_for_vecs(std::int64_t n, std::size_t widest) {
  const std::int64_t each = std::max<std::int64_t>(16 / static_cast<std::int64_t>(widest), 1);
  return grid_for(n / each + (n % each != 0));
}

// The arguments must have exactly the types that the kernel declares: a std::int64_t for a long long, not an int.
// `Context` is KernelContext or KernelInit (argosy/op/kernel/kernel.h); this layer does not include them.
template <typename Context, typename... Arguments>
Status launch(Context& c, const KernelName& name, const LaunchShape& shape, const Arguments&... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return {};
  CudaDevice& device = device_of(*c.device());
  ARGOSY_ASSIGN_OR_RETURN(const CuFunction function, device.function(name.module, name.kernel));
  std::array<void*, sizeof...(Arguments) + 1> pointers = {const_cast<void*>(static_cast<const void*>(&arguments))...,
                                                          nullptr};
  return device.launch(function, shape, pointers.data(), c.node());
}

}  // namespace argosy::cuda
