// A fused program on a GPU: one kernel, compiled when it is first needed. If it cannot be compiled, each step is a
// launch of its op's kernel.
#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/device/cuda/driver/runtime_compiler.h"
#include "argosy/ops/elementwise/fused/fused_source.h"
#include "argosy/ops/elementwise/gpu/gpu_functions.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

namespace {

struct Step {
  enum class Kind { kUnary, kBinary, kSelect, kCast };
  Kind kind = Kind::kUnary;
  const char* module = "";
  std::string kernel;
  std::array<int, 3> operands{};
  DType dtype = DType::kInvalid;
  int output = -1;  // of the op
};

std::optional<Step> step_of(const FusedStep& s, const std::vector<DType>& dtypes) {
  Step step{.operands = s.operands, .dtype = s.dtype};
  const DType first = dtypes[static_cast<std::size_t>(s.operands[0])];
  if (s.op == "Select" || s.op == "SelectV2") {
    step.kind = Step::Kind::kSelect;
    step.module = "move";
    step.kernel = str_cat("select_", cuda::size_suffix(s.dtype));
    return step;
  }
  if (s.op == "Cast") {
    step.kind = Step::Kind::kCast;
    step.module = "cast";
    step.kernel = str_cat("cast_", cuda::type_suffix(first));
    return step;
  }
  const bool binary = s.operands[1] >= 0;
  const std::string_view op = binary && (s.op == "BiasAdd" || s.op == "AddN") ? "Add" : std::string_view(s.op);
  auto found = binary ? elementwise::binary_on_gpu(op, first) : elementwise::unary_on_gpu(op, first);
  if (!found) return std::nullopt;
  step.kind = binary ? Step::Kind::kBinary : Step::Kind::kUnary;
  step.module = found->module;
  step.kernel = std::move(found->kernel);
  return step;
}

class FusedSteps final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const int inputs = static_cast<int>(init.input_dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(const FusedProgram program, FusedProgram::read(init.attrs, inputs));
    ARGOSY_ASSIGN_OR_RETURN(Shape shape, program.shape.full());
    auto kernel = std::make_unique<FusedSteps>(std::move(shape), inputs);
    std::vector<DType> dtypes(init.input_dtypes.begin(), init.input_dtypes.end());
    for (const FusedStep& s : program.steps) {
      auto step = step_of(s, dtypes);
      if (!step) return cuda::make_host_fallback(init);
      kernel->steps_.push_back(*std::move(step));
      dtypes.push_back(s.dtype);
    }
    for (std::size_t o = 0; o < program.results.size(); ++o) {
      kernel->steps_[static_cast<std::size_t>(program.results[o])].output = static_cast<int>(o);
    }
    kernel->last_use_.assign(dtypes.size(), -1);
    for (std::size_t s = 0; s < kernel->steps_.size(); ++s) {
      for (const int v : kernel->steps_[s].operands) {
        if (v >= 0) kernel->last_use_[static_cast<std::size_t>(v)] = static_cast<int>(s);
      }
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  FusedSteps(Shape shape, int inputs) : shape_(std::move(shape)), inputs_(inputs) {}

  Status run(KernelContext& c) override {
    std::vector<Tensor> values;
    for (int i = 0; i < inputs_; ++i) values.push_back(c.input(i));
    std::vector<std::pair<Tensor*, Tensor>> held;  // results whose memory is an input's: copied in the end
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      ARGOSY_ASSIGN_OR_RETURN(Tensor result, place(c, step, values, held));
      ARGOSY_RETURN_IF_ERROR(start(c, step, values, result));
      values.push_back(std::move(result));
      for (std::size_t v = static_cast<std::size_t>(inputs_); v < values.size(); ++v) {
        if (last_use_[v] <= static_cast<int>(s)) values[v] = Tensor();
      }
    }
    for (const auto& [to, from] : held) {
      ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).copy(to->raw(), from.raw(), from.bytes()));
    }
    return ok_status();
  }

 private:
  // Returns the memory of a step's result: that of an output, unless it is shared with an input that a later step may
  // read.
  Result<Tensor> place(KernelContext& c, const Step& step, const std::vector<Tensor>& values,
                       std::vector<std::pair<Tensor*, Tensor>>& held) const {
    Tensor* out = nullptr;
    if (step.output >= 0) {
      ARGOSY_ASSIGN_OR_RETURN(out, c.output(step.output, shape_));
      bool shared = false;
      for (int i = 0; i < inputs_; ++i) shared = shared || values[static_cast<std::size_t>(i)].raw() == out->raw();
      if (!shared) return *out;
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor fresh, Tensor::allocate(step.dtype, shape_, c.allocator()));
    if (out != nullptr) held.emplace_back(out, fresh);
    return fresh;
  }

  Status start(KernelContext& c, const Step& step, const std::vector<Tensor>& values, const Tensor& z) const {
    const std::int64_t n = shape_.elements();
    const auto operand = [&](std::size_t k) -> const Tensor& {
      return values[static_cast<std::size_t>(step.operands[k])];
    };
    const cuda::LaunchShape grid = cuda::grid_for(n);
    const std::size_t widest = std::max(element_bytes(operand(0).dtype()), element_bytes(step.dtype));
    const cuda::LaunchShape vecs = cuda::grid_for_vecs(n, widest);
    const cuda::KernelName name{step.module, step.kernel};
    switch (step.kind) {
      case Step::Kind::kBinary: {
        ARGOSY_ASSIGN_OR_RETURN(const auto strided,
                                cuda::strided_index_of(shape_, operand(0).shape(), operand(1).shape()));
        return cuda::launch(c, name, vecs, n, operand(0).raw(), operand(1).raw(), z.raw(), strided);
      }
      case Step::Kind::kSelect: {
        ARGOSY_ASSIGN_OR_RETURN(const auto strided, cuda::strided_index_of(shape_, operand(0).shape(),
                                                                           operand(1).shape(), operand(2).shape()));
        return cuda::launch(c, name, grid, n, operand(0).raw(), operand(1).raw(), operand(2).raw(), z.raw(), strided);
      }
      default: break;
    }
    Tensor x = operand(0);
    if (!(x.shape() == shape_)) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor whole, Tensor::allocate(x.dtype(), shape_, c.allocator()));
      ARGOSY_RETURN_IF_ERROR(cuda::broadcast_on_gpu(c, x, whole));
      x = std::move(whole);
    }
    if (step.kind == Step::Kind::kUnary) return cuda::launch(c, name, vecs, n, x.raw(), z.raw());
    return cuda::launch(c, name, vecs, n, x.raw(), z.raw(), static_cast<int>(step.dtype));
  }

  const Shape shape_;
  const int inputs_;
  std::vector<Step> steps_;
  std::vector<int> last_use_;  // by value: the step; -1: none
};

class Fused final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto steps, FusedSteps::make(init));
    const int inputs = static_cast<int>(init.input_dtypes.size());
    ARGOSY_ASSIGN_OR_RETURN(const FusedProgram program, FusedProgram::read(init.attrs, inputs));
    std::vector<FusedOperand> operands;
    for (int i = 0; i < inputs; ++i) {
      const auto operand = fused_operand(program.inputs[static_cast<std::size_t>(i)], program.shape);
      if (!operand) return steps;
      operands.push_back(*operand);
    }
    auto source = fused_source(program, init.input_dtypes, operands);
    ARGOSY_ASSIGN_OR_RETURN(Shape shape, program.shape.full());
    if (!source) return steps;
    const std::size_t widest = fused_widest(program, init.input_dtypes);
    return std::unique_ptr<Kernel>(std::make_unique<Fused>(std::move(steps), *std::move(source), std::move(operands),
                                                           std::move(shape), program.inputs, widest));
  }
  Fused(std::unique_ptr<Kernel> steps, std::string source, std::vector<FusedOperand> operands, Shape shape,
        std::vector<PartialShape> inputs, std::size_t widest)
      : steps_(std::move(steps)),
        source_(std::move(source)),
        operands_(std::move(operands)),
        shape_(std::move(shape)),
        inputs_(std::move(inputs)),
        widest_(widest) {}

  Status run(KernelContext& c) override {
    ARGOSY_RETURN_IF_ERROR(check_fused_inputs(c, inputs_));
    cuda::CudaDevice& device = cuda::device_of(*c.device());
    const cuda::CuFunction function = compiled(device);
    if (function == nullptr) return steps_->run(c);
    std::vector<const void*> memory;
    std::vector<std::int64_t> repeats;
    for (int i = 0; i < c.num_inputs(); ++i) memory.push_back(c.input(i).raw());
    for (const FusedOperand& o : operands_) {
      if (o.kind == FusedOperand::Kind::kPeriodic || o.kind == FusedOperand::Kind::kRuns) repeats.push_back(o.size);
    }
    for (int o = 0; o < c.num_outputs(); ++o) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(o, shape_));
      memory.push_back(y->raw());
    }
    std::int64_t n = shape_.elements();
    std::vector<void*> arguments = {&n};
    for (std::size_t i = 0; i < operands_.size(); ++i) arguments.push_back(&memory[i]);
    for (std::int64_t& size : repeats) arguments.push_back(&size);
    for (std::size_t o = operands_.size(); o < memory.size(); ++o) arguments.push_back(&memory[o]);
    return device.launch(function, cuda::grid_for_vecs(n, widest_), arguments.data(), c.node());
  }

 private:
  // Returns the compiled kernel; null if there is no compiler, or it failed, which is logged once.
  cuda::CuFunction compiled(cuda::CudaDevice& device) {
    MutexLock lock(mutex_);
    if (tried_) return function_;
    tried_ = true;
    const auto compiler = device.compiler();
    if (compiler == nullptr) return nullptr;
    const int major = device.gpu().major, minor = device.gpu().minor;
    const std::string key = cuda::cache_key(source_, compiler->version(), major, minor);
    auto found = [&]() -> Result<cuda::CuFunction> {
      if (device.knows_module(key)) return device.function_in(key, nullptr, "fused");
      ARGOSY_ASSIGN_OR_RETURN(const std::string image, compiler->compile(source_, major, minor));
      return device.function_in(key, image.data(), "fused");
    }();
    if (!found.ok()) {
      ARGOSY_LOG(kWarning, "a fused kernel runs step by step: ", found.status().to_string());
      return nullptr;
    }
    return function_ = *found;
  }

  const std::unique_ptr<Kernel> steps_;
  const std::string source_;
  const std::vector<FusedOperand> operands_;
  const Shape shape_;
  const std::vector<PartialShape> inputs_;  // shapes of
  const std::size_t widest_;
  Mutex mutex_;
  bool tried_ ARGOSY_GUARDED_BY(mutex_) = false;
  cuda::CuFunction function_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace

// Called by add_kernels_cuda_elementwise.
void add_kernels_cuda_fused(KernelRegistry& kernels) {
  std::vector<DType> taken = cuda::kFloatingTypes;
  taken.push_back(DType::kBool);
  kernels.add("_FusedElementwise", "cuda", Fused::make, {{"Tin", taken}, {"Tout", taken}, {"dtypes", taken}});
}

}  // namespace argosy
