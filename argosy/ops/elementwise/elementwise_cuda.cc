// Elementwise ops on a GPU: a kernel for each row of kernel_list_cuda.h.
#include <algorithm>
#include <map>

#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/elementwise/functions/elementwise_spans.h"
#include "argosy/ops/elementwise/gpu/gpu_functions.h"
#include "argosy/ops/elementwise/gpu/kernel_list_cuda.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/ops.h"

namespace argosy {

void add_kernels_cuda_sums_and_checks(KernelRegistry& kernels);
void add_kernels_cuda_fused(KernelRegistry& kernels);

namespace {

using cuda::type_suffix;

struct FunctionOfType {
  std::string_view function, type;
};
struct Module {
  const char* name;
  std::span<const FunctionOfType> rows;
};

#define ARGOSY_ROW(F, T) FunctionOfType{#F, #T},
constexpr FunctionOfType kUnarySimple[] = {ARGOSY_CUDA_UNARY_SIMPLE(ARGOSY_ROW)};
constexpr FunctionOfType kUnaryFunctions[] = {ARGOSY_CUDA_UNARY_FUNCTIONS(ARGOSY_ROW)};
constexpr FunctionOfType kUnaryPredicates[] = {ARGOSY_CUDA_UNARY_PREDICATES(ARGOSY_ROW)};
constexpr FunctionOfType kArithmetic[] = {ARGOSY_CUDA_BINARY_ARITHMETIC(ARGOSY_ROW)};
constexpr FunctionOfType kBinaryFunctions[] = {ARGOSY_CUDA_BINARY_FUNCTIONS(ARGOSY_ROW)};
constexpr FunctionOfType kBinaryPredicates[] = {ARGOSY_CUDA_BINARY_PREDICATES(ARGOSY_ROW)};
constexpr FunctionOfType kComplexUnary[] = {ARGOSY_CUDA_COMPLEX_UNARY(ARGOSY_ROW)};
constexpr FunctionOfType kComplexBinary[] = {ARGOSY_CUDA_COMPLEX_BINARY(ARGOSY_ROW)
                                                 ARGOSY_CUDA_COMPLEX_PREDICATES(ARGOSY_ROW)};
#undef ARGOSY_ROW
constexpr Module kUnary[] = {
    {"unary_simple", kUnarySimple}, {"unary_functions", kUnaryFunctions}, {"predicates", kUnaryPredicates}};
constexpr Module kBinary[] = {
    {"arithmetic", kArithmetic}, {"binary_functions", kBinaryFunctions}, {"predicates", kBinaryPredicates}};
// Kept apart, because fused programs have no complex functions.
constexpr Module kOfComplex[] = {{"complex_numbers", kComplexUnary}},
                 kOfTwoComplex[] = {{"complex_numbers", kComplexBinary}};

// The module whose kernel computes `function` of `type`; null when none does.
const Module* find(std::span<const Module> modules, std::string_view function, std::string_view type) {
  for (const Module& m : modules) {
    for (const FunctionOfType& r : m.rows) {
      if (r.function == function && r.type == type) return &m;
    }
  }
  return nullptr;
}

}  // namespace

std::string_view elementwise::function_on_gpu(std::string_view op) { return function_of(op); }

std::optional<elementwise::GpuKernel> elementwise::unary_on_gpu(std::string_view op, DType dtype) {
  const std::string_view function = function_of(op), type = type_suffix(dtype);
  const Module* const module = find(kUnary, function, type);
  if (module == nullptr) return std::nullopt;
  return GpuKernel{module->name, str_cat("unary_", function, "_", type)};
}
std::optional<elementwise::GpuKernel> elementwise::binary_on_gpu(std::string_view op, DType dtype) {
  const std::string_view function = function_of(op), type = type_suffix(dtype);
  const Module* const module = find(kBinary, function, type);
  if (module == nullptr) return std::nullopt;
  return GpuKernel{module->name, str_cat("binary_", function, "_", type)};
}

namespace {

std::optional<elementwise::GpuKernel> on_complex(std::span<const Module> modules, std::string_view form,
                                                 const KernelInit& init) {
  const std::string_view function = elementwise::function_of(init.op.name),
                         type = cuda::number_suffix(init.input_dtypes[0]);
  const Module* const module = find(modules, function, type);
  if (module == nullptr) return std::nullopt;
  return elementwise::GpuKernel{module->name, str_cat(form, function, "_", type)};
}

class Unary final : public Kernel {
 public:
  Unary(const char* module, std::string kernel) : module_(module), kernel_(std::move(kernel)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto found = is_complex(init.input_dtypes[0]) ? on_complex(kOfComplex, "unary_", init)
                                                  : elementwise::unary_on_gpu(init.op.name, init.input_dtypes[0]);
    if (!found) return unimplemented("no row for ", dtype_name(init.input_dtypes[0]));
    return std::unique_ptr<Kernel>(std::make_unique<Unary>(found->module, std::move(found->kernel)));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const std::int64_t n = x.elements();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    return cuda::launch(c, {module_, kernel_}, cuda::grid_for_vecs(n, element_bytes(x.dtype())), n, x.raw(), y->raw());
  }

 private:
  const char* const module_;
  const std::string kernel_;
};

class Binary final : public Kernel, public cuda::TakesOnGpu<0, 1> {
 public:
  Binary(const KernelInit& init, const char* module, std::string kernel)
      : module_(module),
        kernel_(std::move(kernel)),
        // For Equal and NotEqual with incompatible_shape_error = false: the result for shapes that do not broadcast.
        // -1: they are an error.
        unlike_is_(init.attrs.get_or("incompatible_shape_error", true) ? -1 : init.op.name == "NotEqual"),
        // Gradients of unary functions do not broadcast.
        one_shape_(init.op.shape == merged_inputs),
        capturable_(cuda::reads_constants_only(init, {0, 1})) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto found = is_complex(init.input_dtypes[0]) ? on_complex(kOfTwoComplex, "binary_", init)
                                                  : elementwise::binary_on_gpu(init.op.name, init.input_dtypes[0]);
    if (!found) return unimplemented("no row for ", dtype_name(init.input_dtypes[0]));
    return std::unique_ptr<Kernel>(std::make_unique<Binary>(init, found->module, std::move(found->kernel)));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &y = c.input(1).shape();
    auto shape = broadcast(x, y);
    if (!shape.ok() && unlike_is_ >= 0) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, {}));
      return cuda::device_of(*c.device()).fill(z->raw(), 1, static_cast<std::uint32_t>(unlike_is_), 1);
    }
    if (!shape.ok()) return std::move(shape).status();
    if (one_shape_ && !(x == y)) {
      return invalid_argument("inputs must have one shape, not ", x, " and ", y).with_id("ARG-SHAPE-006");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, *shape, {0, 1}));
    const std::int64_t n = z->elements();
    if (n == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const auto strided, cuda::strided_index_of(*shape, x, y));
    return cuda::launch(c, {module_, kernel_}, cuda::grid_for_vecs(n, element_bytes(c.input(0).dtype())), n,
                        c.input(0).raw(), c.input(1).raw(), z->raw(), strided);
  }

 private:
  const char* const module_;
  const std::string kernel_;
  const int unlike_is_;
  const bool one_shape_;
  const bool capturable_;
};

// Returns the ops that compute a function: Add and AddV2 for Add.
std::vector<std::string> ops_of(std::string_view function) {
  std::vector<std::string> ops;
  for (const auto& op : builtin_ops().all()) {
    if (elementwise::function_of(op->name) == function) ops.push_back(op->name);
  }
  return ops;
}

void add(KernelRegistry& kernels, std::span<const Module> modules, KernelFactory make, bool predicate) {
  std::map<std::string_view, std::vector<DType>> dtypes;
  constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8,
                            DType::kInt16,   DType::kInt32,   DType::kInt64,   DType::kUint8,    DType::kUint16,
                            DType::kUint32,  DType::kUint64,  DType::kBool};
  for (const Module& m : modules) {
    if ((std::string_view(m.name) == "predicates") != predicate) continue;
    for (const FunctionOfType& r : m.rows) {
      for (const DType d : kAll) {
        if (type_suffix(d) == r.type) dtypes[r.function].push_back(d);
      }
    }
  }
  for (const auto& [function, list] : dtypes) {
    for (const std::string& op : ops_of(function)) {
      kernels.add(op, "cuda", make, {{"T", list}});
      if (!predicate) kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
    }
  }
}

void add_complex(KernelRegistry& kernels, std::span<const Module> modules, KernelFactory make) {
  for (const Module& m : modules) {
    for (const FunctionOfType& r : m.rows) {
      const DType dtype = r.type == "c64" ? DType::kComplex64 : DType::kComplex128;
      for (const std::string& op : ops_of(r.function)) kernels.add(op, "cuda", make, {{"T", {dtype}}});
    }
  }
}

}  // namespace

void add_kernels_cuda_elementwise(KernelRegistry& kernels) {
  add(kernels, kUnary, Unary::make, false);
  add(kernels, kUnary, Unary::make, true);
  add(kernels, kBinary, Binary::make, false);
  add(kernels, kBinary, Binary::make, true);
  add_complex(kernels, kOfComplex, Unary::make);
  add_complex(kernels, kOfTwoComplex, Binary::make);
  add_kernels_cuda_sums_and_checks(kernels);
  add_kernels_cuda_fused(kernels);
}

}  // namespace argosy
