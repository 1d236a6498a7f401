#include "argosy/testing/run_on_gpu.h"

#include "argosy/device/cuda/cuda_backend.h"
#include "argosy/device/cuda/fake/fake_driver.h"
#include "argosy/device/cuda/kernels/kernels.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/testing/host_compiler.h"

namespace argosy {

namespace {

using cuda::CudaDevice;

// One GPU for the life of the process, made at the first case.
class SharedGpu {
 public:
  static SharedGpu& get() {
    static SharedGpu* const gpu = new SharedGpu;
    return *gpu;
  }

  const KernelRegistry& kernels() const { return kernels_; }
  CudaDevice& device() { return *device_; }
  Status check_violations() const {
    const auto found = driver_.violations();
    return found.empty() ? ok_status() : internal_error("the fake driver: ", found.front());
  }

 private:
  SharedGpu() {
    add_cuda_kernels(kernels_);
    backend_ = std::make_unique<cuda::CudaBackend>(
        driver_.driver(), cuda::CudaBackend::Options{.modules = kImages, .compiler = host_compiler});
    DeviceSpec spec;
    spec.name = {"localhost", 0, 0, "GPU", 0};
    spec.kind = DeviceKind::kCuda;
    spec.physical_gpu = 0;
    spec.memory_limit_bytes = std::uint64_t{128} << 20;
    auto made = backend_->make(std::move(spec), {}, {}, nullptr);
    device_.reset(static_cast<CudaDevice*>(std::move(made).value().release()));
  }

#define CUDA_MODULE(name) {#name, ARGOSY_KERNELS_ON_HOST},
  static constexpr cuda::ModuleImage kImages[] = {
#include "argosy/ops/cuda_modules.inc"
  };
#undef CUDA_MODULE

  cuda::fake::FakeDriver driver_;
  KernelRegistry kernels_;
  std::unique_ptr<cuda::CudaBackend> backend_;
  std::unique_ptr<CudaDevice> device_;
};

Result<Tensor> to_gpu(CudaDevice& device, const Tensor& host) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor there, Tensor::allocate(host.dtype(), host.shape(), device.allocator()));
  ARGOSY_RETURN_IF_ERROR(device.upload(there.raw(), host.raw(), host.bytes()));
  return there;
}

// `inputs` in the host's memory, handles to variables on the GPU among them.
Result<std::vector<Tensor>> run(const OpDef& op, const AttrMap& attrs, const std::vector<Tensor>& inputs,
                                ResourceManager& resources) {
  std::vector<DType> input_dtypes;
  for (const Tensor& t : inputs) input_dtypes.push_back(t.dtype());
  SharedGpu& gpu = SharedGpu::get();
  CudaDevice& device = gpu.device();
  ARGOSY_ASSIGN_OR_RETURN(const auto output_dtypes, arg_dtypes(op.output_args, attrs));
  std::vector<PartialShape> input_shapes;
  std::vector<const Tensor*> constants;
  for (const Tensor& t : inputs) {
    input_shapes.emplace_back(t.shape());
    constants.push_back(&t);
  }
  const std::vector<PartialShape> output_shapes(output_dtypes.size());
  const KernelInit init{.op = op,
                        .attrs = attrs,
                        .node = op.name,
                        .input_dtypes = input_dtypes,
                        .output_dtypes = output_dtypes,
                        .input_shapes = input_shapes,
                        .output_shapes = output_shapes,
                        .constants = constants,
                        .device = &device,
                        .resources = &resources};
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, gpu.kernels().make(init, "cuda"));

  std::vector<Tensor> there = inputs, outputs(output_dtypes.size());
  std::vector<const Tensor*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!cuda::input_on_host(init, static_cast<int>(i))) {
      ARGOSY_ASSIGN_OR_RETURN(there[i], to_gpu(device, inputs[i]));
    }
  }
  for (const Tensor& t : there) pointers.push_back(&t);
  std::vector<OutputSlot> slots(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    slots[i].tensor = &outputs[i];
    slots[i].on_host = cuda::output_on_host(init, static_cast<int>(i));
  }
  KernelContext context({.inputs = pointers.data(),
                         .num_inputs = static_cast<int>(pointers.size()),
                         .outputs = slots.data(),
                         .num_outputs = static_cast<int>(slots.size()),
                         .output_dtypes = output_dtypes.data(),
                         .node = op.name,
                         .device = &device,
                         .allocator = &device.allocator(),
                         .host_allocator = &host_allocator(),
                         .resources = &resources});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  ARGOSY_RETURN_IF_ERROR(device.launch_queue()->finish());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // References are carried as handles.
    if (cuda::output_on_host(init, static_cast<int>(i)) || !is_plain(outputs[i].dtype())) continue;
    ARGOSY_ASSIGN_OR_RETURN(Tensor here, Tensor::allocate(outputs[i].dtype(), outputs[i].shape(), host_allocator()));
    ARGOSY_RETURN_IF_ERROR(device.download(here.raw(), outputs[i].raw(), outputs[i].bytes()));
    outputs[i] = std::move(here);
  }
  ARGOSY_RETURN_IF_ERROR(gpu.check_violations());
  return outputs;
}

// The completed attributes, an error, or nullopt: no CUDA kernel takes them.
std::optional<Result<AttrMap>> attrs_on_gpu(const OpDef& op, AttrMap attrs, const std::vector<DType>& dtypes) {
  const KernelRegistry& kernels = SharedGpu::get().kernels();
  if (!kernels.has(op.name, "cuda")) return std::nullopt;
  if (Status complete = complete_attrs(op, dtypes, attrs); !complete.ok()) return Result<AttrMap>(complete);
  if (kernels.refused(op.name, "cuda", attrs) != DType::kInvalid) return std::nullopt;
  return Result<AttrMap>(std::move(attrs));
}

}  // namespace

std::optional<Result<std::vector<Tensor>>> run_on_gpu(const OpDef& op, AttrMap attrs,
                                                      const std::vector<Tensor>& inputs) {
  std::vector<DType> dtypes;
  for (const Tensor& t : inputs) dtypes.push_back(t.dtype());
  const auto whole = attrs_on_gpu(op, std::move(attrs), dtypes);
  if (!whole) return std::nullopt;
  if (!whole->ok()) return Result<std::vector<Tensor>>(whole->status());
  ResourceManager resources;
  return run(op, **whole, inputs, resources);
}

std::optional<Result<StateOnGpu>> run_state_on_gpu(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                                   const std::vector<bool>& variable, DType dtype) {
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool resource = variable[i] && !op.input_args[i].is_ref;
    dtypes.push_back(resource ? DType::kResource : inputs[i].valid() ? inputs[i].dtype() : dtype);
  }
  const auto whole = attrs_on_gpu(op, std::move(attrs), dtypes);
  if (!whole || dtype == DType::kInt32) return std::nullopt;
  const auto go = [&]() -> Result<StateOnGpu> {
    ARGOSY_RETURN_IF_ERROR(whole->status());
    CudaDevice& device = SharedGpu::get().device();
    ResourceManager resources;
    std::vector<std::shared_ptr<Variable>> variables;
    std::vector<Tensor> handles = inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!variable[i]) continue;
      const DType held = inputs[i].valid() ? inputs[i].dtype() : dtype;
      variables.push_back(std::make_shared<Variable>(held, PartialShape::unknown(), device.allocator()));
      if (inputs[i].valid()) {
        ARGOSY_ASSIGN_OR_RETURN(const Tensor there, to_gpu(device, inputs[i]));
        ARGOSY_RETURN_IF_ERROR(variables.back()->assign(there, true));
      }
      handles[i] = Tensor::scalar(ResourceHandle("localhost", str_cat("v", i), variables.back()));
    }
    StateOnGpu state;
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, run(op, **whole, handles, resources));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i >= op.output_args.size() || !op.output_args[i].is_ref) state.outputs.push_back(outputs[i]);
    }
    for (const auto& v : variables) {
      const auto value = v->read_to_host("v");
      state.after.push_back(value.ok() ? *value : Tensor());
    }
    return state;
  };
  return go();
}

}  // namespace argosy
