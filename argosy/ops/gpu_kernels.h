// The host's side of kernels of kind "cuda": names of kernels by dtype. Values that live in the host's memory but are
// wanted on the GPU. Ops that the CPU's kernels serve as they are.
//
// Where values live: int32, strings, handles, and inputs and outputs that an op declares as host_inputs or host_outputs
// are in the host's memory. Everything else is on the GPU (argosy/device/cuda/cuda_device.h).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "argosy/device/cuda/kernels/launch.h"
#include "argosy/device/cuda/kernels/strided_index.h"
#include "argosy/op/kernel/device_inputs.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy::cuda {

// As type_suffix() (argosy/device/cuda/kernels/launch.h), by size alone: "b4". Empty where there is none.
std::string_view size_suffix(DType dtype);

// Rows of elements that are only moved, one behind the other at each of `memory`: as elements of up to 16 bytes, as far
// as rows and addresses allow.
struct MovedRows {
  std::size_t bytes;   // of an element: its kernels are named "b" and this
  std::int64_t slice;  // elements of a row
};
MovedRows moved_rows(DType dtype, std::int64_t slice, std::initializer_list<const void*> memory);

// The dtypes that most kernels on floating-point numbers take.
inline const std::vector<DType> kFloatingTypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16};

// Does argument i of the node live in the host's memory? By what is known when its kernel is made.
bool input_on_host(const KernelInit& init, int i);
bool output_on_host(const KernelInit& init, int i);
// All that the node's kernel reads on the host is constant: what it starts is the same every time. `on_gpu`: inputs
// that it has the step bring to the GPU.
bool reads_constants_only(const KernelInit& init, std::initializer_list<int> on_gpu = {});

// Of int32 inputs that a kernel reads on the GPU.
template <int... kInputs>
class TakesOnGpu : public DeviceInputs {
 public:
  bool on_device(int input) const override { return ((input == kInputs) || ...); }
};

// A kernel that is a function, and knows whether what it starts may be replayed without it. kOnGpu: the inputs that
// it takes on the GPU, be they of int32.
template <Status (*kRun)(KernelContext&), int... kOnGpu>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init);
// The same of a function that also reads its node's attributes.
template <Status (*kRun)(KernelContext&, const AttrMap&)>
Result<std::unique_ptr<Kernel>> make_launching(const KernelInit& init);

// The CPU's kernel for the node, for ops that read and write the host's memory alone, or move no elements: those of
// int32 values, handles, shapes.
Result<std::unique_ptr<Kernel>> make_on_host(const KernelInit& init);
// The CPU's kernel with everything brought to the host and back: waits for the GPU. For rare mixtures only.
Result<std::unique_ptr<Kernel>> make_by_way_of_host(const KernelInit& init);
// Was it made by make_by_way_of_host()?
bool goes_by_host(const Kernel& kernel);
// Does the node compute on numbers of the host's memory alone? What hands tensors on, or holds variables, does not.
bool computes_on_host(const KernelInit& init);

// Input i's elements on the GPU: its own memory, or a copy of what lives in the host's.
class OnGpu {
 public:
  static Result<OnGpu> of(KernelContext& c, int i);
  const void* data() const { return data_; }

 private:
  const void* data_ = nullptr;
  Buffer copy_;
};
// A value of int32 is computed here, then goes to output i in the host's memory: waits for the GPU.
class ToHost {
 public:
  static Result<ToHost> of(KernelContext& c, Tensor& output);
  void* data() const { return copy_.data(); }
  Status finish(KernelContext& c);

 private:
  Tensor* output_ = nullptr;
  Buffer copy_;
};

// How `operands` broadcast to `output`. UNIMPLEMENTED beyond StridedIndex's rank.
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
