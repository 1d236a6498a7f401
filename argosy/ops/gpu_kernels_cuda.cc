#include "argosy/ops/gpu_kernels.h"

#include <algorithm>

#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/ops.h"

namespace argosy::cuda {

std::string_view size_suffix(DType dtype) {
  if (!is_plain(dtype)) return "";
  switch (element_bytes(dtype)) {
    case 1: return "b1";
    case 2: return "b2";
    case 4: return "b4";
    case 8: return "b8";
    case 16: return "b16";
    default: return "";
  }
}

MovedRows moved_rows(DType dtype, std::int64_t slice, std::initializer_list<const void*> memory) {
  MovedRows rows{element_bytes(dtype), slice};
  const auto lies = [&](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % (2 * rows.bytes) == 0; };
  while (rows.bytes <= 8 && rows.slice % 2 == 0 && std::all_of(memory.begin(), memory.end(), lies)) {
    rows.bytes *= 2;
    rows.slice /= 2;
  }
  return rows;
}

namespace {

bool lives_on_host(DType dtype) { return !is_plain(dtype) || dtype == DType::kInt32; }

// Returns the argument of the signature that tensor i of a node belongs to: a list has several tensors.
int argument_of(const std::vector<ArgDef>& args, const AttrMap& attrs, int i) {
  for (std::size_t a = 0; a < args.size(); ++a) {
    std::int64_t tensors = 1;
    if (!args[a].number_attr.empty()) tensors = attrs.get_int(args[a].number_attr);
    if (!args[a].type_list_attr.empty()) {
      tensors = static_cast<std::int64_t>(attrs.get<std::vector<DType>>(args[a].type_list_attr).size());
    }
    if (i < tensors) return static_cast<int>(a);
    i -= static_cast<int>(tensors);
  }
  return -1;
}

bool declared(const std::vector<int>& host, const std::vector<ArgDef>& args, const AttrMap& attrs, int i) {
  return !host.empty() && std::find(host.begin(), host.end(), argument_of(args, attrs, i)) != host.end();
}

class HostFallback final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto cpu, cpu_kernels().make(init, "cpu"));
    auto kernel = std::make_unique<HostFallback>(std::move(cpu));
    for (int i = 0; i < static_cast<int>(init.input_dtypes.size()); ++i) {
      kernel->input_here_.push_back(input_on_host(init, i));
    }
    for (int i = 0; i < static_cast<int>(init.output_dtypes.size()); ++i) {
      kernel->output_here_.push_back(output_on_host(init, i));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  explicit HostFallback(std::unique_ptr<Kernel> cpu) : cpu_(std::move(cpu)) {}

  bool capturable() const override { return false; }

  Status run(KernelContext& c) override {
    CudaDevice& device = device_of(*c.device());
    std::vector<Tensor> inputs, outputs(static_cast<std::size_t>(c.num_outputs()));
    std::vector<const Tensor*> pointers;
    for (int i = 0; i < c.num_inputs(); ++i) {
      inputs.push_back(c.input(i));
      if (input_here_[static_cast<std::size_t>(i)] || !c.input(i).valid()) continue;
      ARGOSY_ASSIGN_OR_RETURN(inputs.back(),
                              Tensor::allocate(c.input(i).dtype(), c.input(i).shape(), host_allocator()));
      ARGOSY_RETURN_IF_ERROR(device.download(inputs.back().raw(), c.input(i).raw(), c.input(i).bytes()));
    }
    for (const Tensor& t : inputs) pointers.push_back(&t);
    std::vector<OutputSlot> slots(outputs.size());
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i].tensor = &outputs[i];
    KernelContext::Fields fields = c.fields();
    fields.inputs = pointers.data();
    fields.outputs = slots.data();
    fields.may_donate = nullptr;
    fields.allocator = &host_allocator();
    fields.host_allocator = nullptr;
    KernelContext here(fields);
    ARGOSY_RETURN_IF_ERROR(cpu_->run(here));
    for (int i = 0; i < c.num_outputs(); ++i) {
      const Tensor& made = outputs[static_cast<std::size_t>(i)];
      if (!made.valid()) continue;
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, made.shape()));
      if (output_here_[static_cast<std::size_t>(i)]) {
        copy_elements(*y, made);
      } else {
        ARGOSY_RETURN_IF_ERROR(device.upload(y->raw(), made.raw(), made.bytes()));
      }
    }
    return ok_status();
  }

 private:
  const std::unique_ptr<Kernel> cpu_;
  std::vector<bool> input_here_, output_here_;
};

// The CPU's kernel for nodes whose tensors are all in host memory; its scratch memory is, too.
class OnHost final : public Kernel {
 public:
  explicit OnHost(std::unique_ptr<Kernel> cpu) : cpu_(std::move(cpu)) {}
  Status run(KernelContext& c) override {
    KernelContext::Fields fields = c.fields();
    fields.allocator = fields.host_allocator != nullptr ? fields.host_allocator : &host_allocator();
    fields.host_allocator = nullptr;
    KernelContext here(fields);
    return cpu_->run(here);
  }

 private:
  const std::unique_ptr<Kernel> cpu_;
};

template <int kOperands>
Result<StridedIndex<kOperands>> strided_index_over(const Shape& output, std::span<const Shape* const> shapes) {
  const BroadcastPlan plan(output, shapes);
  StridedIndex<kOperands> strided{};
  if (plan.rank > StridedIndex<kOperands>::kMaxRank) {
    return unimplemented("a broadcast over ", plan.rank, " axes that cannot be merged; a GPU walks at most ",
                         StridedIndex<kOperands>::kMaxRank)
        .with_hint("place the node on a CPU");
  }
  strided.rank = plan.rank;
  for (int axis = 0; axis < plan.rank; ++axis) {
    strided.sizes[axis] = plan.sizes[static_cast<std::size_t>(axis)];
    for (int k = 0; k < kOperands; ++k) {
      strided.strides[k][axis] = plan.strides[static_cast<std::size_t>(k)][static_cast<std::size_t>(axis)];
    }
  }
  return strided;
}

}  // namespace

bool input_on_host(const KernelInit& init, int i) {
  return lives_on_host(init.input_dtypes[static_cast<std::size_t>(i)]) ||
         declared(init.op.host_inputs, init.op.input_args, init.attrs, i);
}
bool output_on_host(const KernelInit& init, int i) {
  return lives_on_host(init.output_dtypes[static_cast<std::size_t>(i)]) ||
         declared(init.op.host_outputs, init.op.output_args, init.attrs, i);
}

bool reads_constants_only(const KernelInit& init, std::initializer_list<int> on_gpu) {
  for (int i = 0; i < static_cast<int>(init.input_dtypes.size()); ++i) {
    if (std::find(on_gpu.begin(), on_gpu.end(), i) != on_gpu.end()) continue;
    const DType dtype = init.input_dtypes[static_cast<std::size_t>(i)];
    if (is_plain(dtype) && input_on_host(init, i) && init.constant(i) == nullptr) return false;
  }
  return true;
}

bool computes_on_host(const KernelInit& init) {
  for (int i = 0; i < static_cast<int>(init.input_dtypes.size()); ++i) {
    if (!is_plain(init.input_dtypes[static_cast<std::size_t>(i)]) || !input_on_host(init, i)) return false;
  }
  for (int i = 0; i < static_cast<int>(init.output_dtypes.size()); ++i) {
    if (!is_plain(init.output_dtypes[static_cast<std::size_t>(i)]) || !output_on_host(init, i)) return false;
  }
  return !init.output_dtypes.empty();
}

Result<std::unique_ptr<Kernel>> make_on_host(const KernelInit& init) {
  ARGOSY_ASSIGN_OR_RETURN(auto cpu, cpu_kernels().make(init, "cpu"));
  if (!computes_on_host(init)) return cpu;
  return std::unique_ptr<Kernel>(std::make_unique<OnHost>(std::move(cpu)));
}
Result<std::unique_ptr<Kernel>> make_host_fallback(const KernelInit& init) { return HostFallback::make(init); }
bool is_host_fallback(const Kernel& kernel) { return dynamic_cast<const HostFallback*>(&kernel) != nullptr; }

Result<OnGpu> OnGpu::of(KernelContext& c, int i) {
  const Tensor& x = c.input(i);
  OnGpu on;
  on.data_ = x.raw();
  if (!lives_on_host(x.dtype()) || x.bytes() == 0) return on;
  ARGOSY_ASSIGN_OR_RETURN(on.copy_, c.scratch(x.bytes()));
  ARGOSY_RETURN_IF_ERROR(device_of(*c.device()).upload(on.copy_.data(), x.raw(), x.bytes()));
  on.data_ = on.copy_.data();
  return on;
}

Result<ToHost> ToHost::of(KernelContext& c, Tensor& output) {
  ToHost to;
  to.output_ = &output;
  ARGOSY_ASSIGN_OR_RETURN(to.copy_, c.scratch(output.bytes()));
  return to;
}
Status ToHost::finish(KernelContext& c) {
  return device_of(*c.device()).download(output_->raw(), copy_.data(), output_->bytes());
}

Result<StridedIndex<2>> strided_index_of(const Shape& output, const Shape& x, const Shape& y) {
  const Shape* const shapes[] = {&x, &y};
  return strided_index_over<2>(output, shapes);
}
Result<StridedIndex<3>> strided_index_of(const Shape& output, const Shape& x, const Shape& y, const Shape& z) {
  const Shape* const shapes[] = {&x, &y, &z};
  return strided_index_over<3>(output, shapes);
}

}  // namespace argosy::cuda
