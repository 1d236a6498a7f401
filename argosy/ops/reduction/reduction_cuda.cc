// Reductions on a GPU.
#include <algorithm>

#include "argosy/ops/reduction/reduce_gpu.h"

namespace argosy {

namespace {

using reduction::Group;
using reduction::ReductionPlan;

struct Named {
  std::string_view op, fold;
  bool mean = false, root = false;
};
constexpr Named kReductions[] = {
    {"Sum", "sum"}, {"Mean", "sum", true}, {"Prod", "prod"},
    {"Max", "max"}, {"Min", "min"},        {"EuclideanNorm", "sumsq", false, true},
    {"All", "all"}, {"Any", "any"},
};

class Reduction final : public Kernel {
 public:
  Reduction(const Named& named, bool keep_dims, bool capturable)
      : named_(named), keep_dims_(keep_dims), capturable_(capturable) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const auto* const named = std::find_if(std::begin(kReductions), std::end(kReductions),
                                           [&](const Named& n) { return n.op == init.op.name; });
    return std::unique_ptr<Kernel>(
        std::make_unique<Reduction>(*named, init.attrs.get_bool("keep_dims"), cuda::reads_constants_only(init)));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const auto axes, reduction::axis_set(c.input(1), x.shape().rank(), named_.op));
    const ReductionPlan plan(x.shape(), axes, keep_dims_);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, plan.output));
    if (y->elements() == 0) return ok_status();
    const cuda::Finish finish{named_.mean ? plan.count : -1, named_.root ? 1 : 0};
    std::vector<Group> groups = plan.groups;
    if (plan.count == 0) groups = {{0, true}, {y->elements(), false}};
    return cuda::reduce_on_gpu(c, named_.fold, x.dtype(), x.raw(), std::move(groups), y->raw(), finish);
  }

 private:
  const Named& named_;
  const bool keep_dims_, capturable_;
};

Status l2_loss(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  return cuda::reduce_on_gpu(c, "sumsq", x.dtype(), x.raw(), {{x.elements(), true}}, y->raw(), {.divide_by = 2});
}

class Arg final : public Kernel {
 public:
  explicit Arg(const KernelInit& init)
      : op_(init.op.name),
        kernel_(str_cat(op_ == "ArgMax" ? "arg_max_" : "arg_min_", cuda::type_suffix(init.input_dtypes[0]), "_",
                        cuda::type_suffix(init.output_dtypes[0]))),
        capturable_(cuda::reads_constants_only(init) && init.output_dtypes[0] != DType::kInt32) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Arg>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &dimension = c.input(1);
    if (dimension.shape().rank() != 0) {
      return invalid_argument(op_, ": dimension must be one number, not of shape ", dimension.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t axis, to_int64(dimension, op_));
    ARGOSY_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, x.shape().rank(), op_));
    const std::int64_t count = x.shape()[normal];
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape().removed(normal)));
    if (count == 0) return invalid_argument(op_, ": axis ", normal, " is empty in shape ", x.shape());
    if (y->elements() == 0) return ok_status();
    std::int64_t outer = 1;
    for (int i = 0; i < normal; ++i) outer *= x.shape()[i];
    const std::int64_t inner = y->elements() / outer;
    cuda::LaunchShape shape{.block = {128}};
    shape.grid.x = static_cast<unsigned>(std::min<std::int64_t>(y->elements(), cuda::kMostBlocks));
    const auto start = [&](void* to) {
      return cuda::launch(c, {"reduce", kernel_}, shape, outer, count, inner, x.raw(), to);
    };
    if (y->dtype() != DType::kInt32) return start(y->raw());
    ARGOSY_ASSIGN_OR_RETURN(cuda::ToHost there, cuda::ToHost::of(c, *y));
    ARGOSY_RETURN_IF_ERROR(start(there.data()));
    return there.finish(c);
  }

 private:
  const std::string op_, kernel_;
  const bool capturable_;
};

}  // namespace

void add_kernels_cuda_reduction(KernelRegistry& kernels) {
  std::vector<DType> numbers = cuda::kFloatingTypes;
  numbers.push_back(DType::kInt64);
  for (const Named& n : kReductions) {
    const std::string op(n.op);
    if (op == "All" || op == "Any") {
      kernels.add(op, "cuda", Reduction::make);
      continue;
    }
    kernels.add(op, "cuda", Reduction::make, {{"T", n.mean || n.root ? cuda::kFloatingTypes : numbers}});
    if (op == "Sum" || op == "Mean" || op == "Prod") {
      kernels.add(op, "cuda", Reduction::make, {{"T", {DType::kComplex64, DType::kComplex128}}});
    }
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
  kernels.add("L2Loss", "cuda", cuda::make_launching<l2_loss>, {{"T", cuda::kFloatingTypes}});
  numbers.push_back(DType::kBool);
  for (const char* op : {"ArgMax", "ArgMin"}) {
    kernels.add(
        op, "cuda", Arg::make,
        {{"T", numbers}, {"Tidx", {DType::kInt32, DType::kInt64}}, {"output_type", {DType::kInt32, DType::kInt64}}});
  }
}

}  // namespace argosy
