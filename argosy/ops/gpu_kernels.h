// Helpers for kernels of kind "cuda" on the host's side. They name kernels by dtype, bring values from host memory to
// the GPU, and run CPU kernels for ops that need no GPU.
//
// Where values are: int32, strings, handles, and inputs and outputs that an op declares as host_inputs or host_outputs
// are in host memory. Everything else is on the GPU (argosy/device/cuda/cuda_device.h).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "argosy/device/cuda/kernels/launch.h"
#include "argosy/device/cuda/kernels/strided_index.h"
#include "argosy/op/kernel/device_inputs.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy::cuda {

// Like type_suffix() (argosy/device/cuda/kernels/launch.h), but by element size alone: "b4". Empty if there is none.
std::string_view size_suffix(DType dtype);

// Rows of elements that a kernel only copies, contiguous at each address of `memory`. They are seen as elements of up
// to 16 bytes, as far as row size and alignment allow.
struct MovedRows {
  std::size_t bytes;   // of an element; its kernels are named "b" + bytes
  std::int64_t slice;  // elements of a row
};
MovedRows moved_rows(DType dtype, std::int64_t slice, std::initializer_list<const void*> memory);

// The dtypes of most kernels on floating-point numbers.
inline const std::vector<DType> kFloatingTypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16};

// True if input (or output) i of the node is in host memory, by what is known when its kernel is made.
bool input_on_host(const KernelInit& init, int i);
bool output_on_host(const KernelInit& init, int i);
// True if all that the node's kernel reads on the host is constant, so that it launches the same every time. `on_gpu`:
// inputs that the step copies to the GPU for it.
bool reads_constants_only(const KernelInit& init, std::initializer_list<int> on_gpu = {});

// Declares int32 inputs that a kernel reads on the GPU.
template <int... kInputs>
class TakesOnGpu : public DeviceInputs {
 public:
  bool on_device(int input) const override { return ((input == kInputs) || ...); }
};

// Makes a kernel from a function. Its launches may be replayed without it (capturable()) if reads_constants_only().
// kOnGpu: the inputs that it reads on the GPU even if they are int32.
template <Status (*kRun)(KernelContext&), int... kOnGpu>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init);
// The same for a function that also reads its node's attributes.
template <Status (*kRun)(KernelContext&, const AttrMap&)>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init);

// Makes the CPU's kernel for the node. For ops that access host memory alone (int32 values, handles), or move no
// elements (shapes).
Result<std::unique_ptr<Kernel>> make_on_host(const KernelInit& init);
// Makes the CPU's kernel, with all inputs and outputs copied to the host and back. It waits for the GPU. For rare cases
// only.
Result<std::unique_ptr<Kernel>> make_host_fallback(const KernelInit& init);
// True if the kernel was made by make_host_fallback().
bool is_host_fallback(const Kernel& kernel);
// True if all inputs and outputs are numbers in host memory, and there is an output. False for nodes on handles, such
// as variables.
bool computes_on_host(const KernelInit& init);

// The elements of input i on the GPU: its own memory, or a copy of its host memory.
class OnGpu {
 public:
  static Result<OnGpu> of(KernelContext& c, int i);
  const void* data() const { return data_; }

 private:
  const void* data_ = nullptr;
  Buffer copy_;
};
// GPU memory for an output in host memory (int32). A kernel writes data(); finish() copies it to the output, and waits
// for the GPU.
class ToHost {
 public:
  static Result<ToHost> of(KernelContext& c, Tensor& output);
  void* data() const { return copy_.data(); }
  Status finish(KernelContext& c);

 private:
  Tensor* output_ = nullptr;
  Buffer copy_;
};

// Returns how x, y and z broadcast to `output`. UNIMPLEMENTED if the rank is beyond StridedIndex's.
Result<StridedIndex<2>> strided_index_of(const Shape& output, const Shape& x, const Shape& y);
Result<StridedIndex<3>> strided_index_of(const Shape& output, const Shape& x, const Shape& y, const Shape& z);

namespace internal {
template <int... kOnGpu>
class LaunchingKernel final : public Kernel, public TakesOnGpu<kOnGpu...> {
 public:
  LaunchingKernel(Status (*run)(KernelContext&), bool capturable) : run_(run), capturable_(capturable) {}
  Status run(KernelContext& c) override { return run_(c); }
  bool capturable() const override { return capturable_; }

 private:
  Status (*const run_)(KernelContext&);
  const bool capturable_;
};
class LaunchingAttrsKernel final : public Kernel {
 public:
  using Run = Status (*)(KernelContext&, const AttrMap&);
  LaunchingAttrsKernel(Run run, const AttrMap& attrs, bool capturable)
      : run_(run), attrs_(attrs), capturable_(capturable) {}
  Status run(KernelContext& c) override { return run_(c, attrs_); }
  bool capturable() const override { return capturable_; }

 private:
  const Run run_;
  const AttrMap attrs_;
  const bool capturable_;
};
}  // namespace internal

template <Status (*kRun)(KernelContext&), int... kOnGpu>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init) {
  return std::unique_ptr<Kernel>(
      std::make_unique<internal::LaunchingKernel<kOnGpu...>>(kRun, reads_constants_only(init, {kOnGpu...})));
}

template <Status (*kRun)(KernelContext&, const AttrMap&)>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init) {
  return std::unique_ptr<Kernel>(
      std::make_unique<internal::LaunchingAttrsKernel>(kRun, init.attrs, reads_constants_only(init)));
}

}  // namespace argosy::cuda
