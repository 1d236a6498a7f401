// Dense updates on a GPU: one launch for up to ApplyTable::kMostUpdates variables of a node.
#include <array>
#include <set>

#include "argosy/ops/gather/gpu_slots.h"
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/optimizer/apply_cuda.h"
#include "argosy/ops/optimizer/apply_many.h"
#include "argosy/ops/optimizer/distinct_slots.h"
#include "argosy/ops/optimizer/update_shard.h"

namespace argosy {

namespace {

using cuda::ApplyTable;

struct Rule {
  std::string_view name;
  bool flag;
};
#define ARGOSY_ROW(name, flag) Rule{#name, flag != 0},
constexpr Rule kRules[] = {ARGOSY_CUDA_RULES(ARGOSY_ROW)};
constexpr Rule kRowRules[] = {ARGOSY_CUDA_ROW_RULES(ARGOSY_ROW)};
#undef ARGOSY_ROW

constexpr const char* kFlags[] = {"use_nesterov", "update_slots", "multiply_linear_by_lr"};

std::string_view rule_of(std::string_view op) {
  for (const std::string_view prefix : {"Resource", "Sparse", "Apply"}) {
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  }
  return op;
}

Result<std::string> kernel_name(std::span<const Rule> rules, const char* prefix, std::string_view op, bool flag,
                                DType dtype) {
  for (const Rule& r : rules) {
    if (r.name == rule_of(op) && r.flag == flag) {
      return str_cat(prefix, r.name, "_", flag ? 1 : 0, "_", cuda::type_suffix(dtype));
    }
  }
  return unimplemented("no kernel for ", op);
}

bool flag_of(const AttrMap& attrs) {
  bool flag = false;
  for (const char* attr : kFlags) flag = flag || attrs.get_or(attr, false);
  return flag;
}

// An Apply op, or several as one: variable v of update u is input u * variables + v.
class Apply final : public Kernel {
 public:
  // Of one op's own inputs.
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const auto parts = apply_parts(init.op);
    if (!parts) return unimplemented(init.op.name, " is no dense update");
    const DType dtype = init.attrs.get_type("T");
    ARGOSY_ASSIGN_OR_RETURN(std::string kernel,
                            kernel_name(kRules, "apply_", init.op.name, flag_of(init.attrs), dtype));
    return std::unique_ptr<Kernel>(std::make_unique<Apply>(std::move(kernel), dtype, parts->variables, 1,
                                                           parts->scalars, std::vector<int>{parts->gradient},
                                                           UpdateShard::of(init.attrs)));
  }
  static Result<std::unique_ptr<Kernel>> make_many(const KernelInit& init) {
    const OpDef* const op = builtin_ops().find(init.attrs.get_string("op"));
    const auto parts = op != nullptr ? apply_parts(*op) : std::nullopt;
    const auto variables = init.attrs.get_int("N"), values = init.attrs.get_int("M");
    if (!parts || variables % parts->variables != 0 ||
        values != static_cast<std::int64_t>(parts->scalars.size()) + variables / parts->variables) {
      return invalid_argument(init.op.name, ": ", variables, " variables and ", values, " values do not fit ",
                              init.attrs.get_string("op"));
    }
    const DType dtype = init.attrs.get_type("T");
    ARGOSY_ASSIGN_OR_RETURN(std::string kernel,
                            kernel_name(kRules, "apply_", op->name, !init.attrs.get_string("flag").empty(), dtype));
    const int updates = static_cast<int>(variables) / parts->variables;
    int at = static_cast<int>(variables);
    std::vector<int> scalars, gradients;
    for (std::size_t s = 0; s < parts->scalars.size(); ++s) scalars.push_back(at++);
    for (int u = 0; u < updates; ++u) gradients.push_back(at++);
    return std::unique_ptr<Kernel>(std::make_unique<Apply>(std::move(kernel), dtype, parts->variables, updates,
                                                           std::move(scalars), std::move(gradients)));
  }

  Apply(std::string kernel, DType dtype, int variables, int updates, std::vector<int> scalars,
        std::vector<int> gradients, std::optional<UpdateShard> shard = std::nullopt)
      : kernel_(std::move(kernel)),
        dtype_(dtype),
        variables_(variables),
        updates_(updates),
        scalars_(std::move(scalars)),
        gradients_(std::move(gradients)),
        shard_(std::move(shard)) {}

  Status run(KernelContext& c) override {
    ApplyTable table{};
    for (std::size_t s = 0; s < scalars_.size(); ++s) {
      const Tensor& t = c.input(scalars_[s]);
      if (t.shape().rank() != 0) {
        return invalid_argument("input ", scalars_[s], " must be a scalar, not of shape ", t.shape());
      }
      table.scalars[s] = t.raw();
    }
    for (int first = 0; first < updates_; first += ApplyTable::kMostUpdates) {
      table.count = std::min(ApplyTable::kMostUpdates, updates_ - first);
      table.pieces = 0;
      for (int u = 0; u < table.count; ++u) {
        ApplyTable::Update& update = table.updates[u];
        ARGOSY_RETURN_IF_ERROR(describe(c, first + u, update));
        update.first = table.pieces;
        table.pieces += (update.n + ApplyTable::kPiece - 1) / ApplyTable::kPiece;
      }
      const cuda::LaunchShape shape = cuda::grid_for(table.pieces * cuda::kBlock);
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {"apply", kernel_}, shape, table));
    }
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  // What is launched under the locks comes in the stream's order after what others launched under them.
  Status describe(KernelContext& c, int u, ApplyTable::Update& update) const {
    std::array<Variable*, ApplyTable::kMostVariables> variables{};
    std::array<std::string_view, ApplyTable::kMostVariables> names{};
    for (int v = 0; v < variables_; ++v) {
      const int input = u * variables_ + v;
      ARGOSY_ASSIGN_OR_RETURN(variables[static_cast<std::size_t>(v)], c.variable(input));
      names[static_cast<std::size_t>(v)] = c.input(input).data<ResourceHandle>()->name();
      if (variables[static_cast<std::size_t>(v)]->dtype() != dtype_) {
        return invalid_argument("variable ", names[static_cast<std::size_t>(v)], " is ",
                                dtype_name(variables[static_cast<std::size_t>(v)]->dtype()), ", not ",
                                dtype_name(dtype_));
      }
    }
    const auto count = static_cast<std::size_t>(variables_);
    ARGOSY_RETURN_IF_ERROR(optimizer::own_slots(std::span(variables.data(), count), std::span(names.data(), count)));
    const Tensor& gradient = c.input(gradients_[static_cast<std::size_t>(u)]);
    return Variable::update_all(std::span(variables.data(), count), std::span(names.data(), count),
                                [&](std::span<Tensor* const> values) -> Status {
                                  Tensor first = *values[0];
                                  if (shard_) {
                                    ARGOSY_ASSIGN_OR_RETURN(first, shard_->elements_of(*values[0]));
                                  }
                                  update.variables[0] = first.raw();
                                  for (std::size_t v = 1; v < count; ++v) {
                                    if (!(values[v]->shape() == first.shape())) {
                                      return invalid_argument("variables ", names[0], first.shape(), " and ", names[v],
                                                              values[v]->shape(), " must have one shape")
                                          .with_id("ARG-SHAPE-008");
                                    }
                                    update.variables[v] = values[v]->raw();
                                  }
                                  if (!(gradient.shape() == first.shape())) {
                                    return invalid_argument("variable ", names[0], first.shape(), " and its gradient ",
                                                            gradient.shape(), " must have one shape")
                                        .with_id("ARG-SHAPE-008");
                                  }
                                  update.gradient = gradient.raw();
                                  update.n = first.elements();
                                  return ok_status();
                                });
  }

  const std::string kernel_;
  const DType dtype_;
  const int variables_, updates_;
  const std::vector<int> scalars_, gradients_;
  const std::optional<UpdateShard> shard_;  // of one update
};

// A SparseApply op. Where its inputs stand is told by their names.
class ApplyRows final : public Kernel {
 public:
  explicit ApplyRows(const OpDef& op, DType dtype, std::string kernel)
      : op_(op.name), dtype_(dtype), kernel_(std::move(kernel)) {
    for (int i = 0; i < static_cast<int>(op.input_args.size()); ++i) {
      const ArgDef& arg = op.input_args[static_cast<std::size_t>(i)];
      if (arg.is_ref || arg.dtype == DType::kResource) {
        ++variables_;
      } else if (arg.name == "grad" || arg.name == "delta") {
        gradient_ = i;
      } else if (arg.name == "indices") {
        indices_ = i;
      } else {
        scalars_.push_back(i);
      }
    }
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType dtype = init.attrs.get_type("T");
    ARGOSY_ASSIGN_OR_RETURN(std::string kernel,
                            kernel_name(kRowRules, "apply_rows_", init.op.name, flag_of(init.attrs), dtype));
    return std::unique_ptr<Kernel>(std::make_unique<ApplyRows>(init.op, dtype, std::move(kernel)));
  }
  // Indices may change.
  bool capturable() const override { return false; }

  Status run(KernelContext& c) override {
    cuda::ApplyRows table{};
    for (std::size_t s = 0; s < scalars_.size(); ++s) {
      const Tensor& t = c.input(scalars_[s]);
      if (t.shape().rank() != 0) {
        return invalid_argument(op_, ": input ", scalars_[s], " must be a scalar, not of shape ", t.shape());
      }
      table.scalars[s] = t.raw();
    }
    std::array<Variable*, ApplyTable::kMostVariables> variables{};
    std::array<std::string_view, ApplyTable::kMostVariables> names{};
    for (int v = 0; v < variables_; ++v) {
      const auto i = static_cast<std::size_t>(v);
      ARGOSY_ASSIGN_OR_RETURN(variables[i], c.variable(v));
      names[i] = c.input(v).data<ResourceHandle>()->name();
      if (variables[i]->dtype() != dtype_) {
        return invalid_argument("variable ", names[i], " is ", dtype_name(variables[i]->dtype()), ", not ",
                                dtype_name(dtype_));
      }
    }
    const auto count = static_cast<std::size_t>(variables_);
    ARGOSY_RETURN_IF_ERROR(optimizer::own_slots(std::span(variables.data(), count), std::span(names.data(), count)));
    ARGOSY_RETURN_IF_ERROR(Variable::update_all(
        std::span(variables.data(), count), std::span(names.data(), count),
        [&](std::span<Tensor* const> values) { return update(c, values, std::span(names.data(), count), table); }));
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  Status update(KernelContext& c, std::span<Tensor* const> values, std::span<const std::string_view> names,
                cuda::ApplyRows& table) const {
    const Shape& shape = values[0]->shape();
    const Tensor &indices = c.input(indices_), &gradient = c.input(gradient_);
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (!(values[v]->shape() == shape)) {
        return invalid_argument("variables ", names[0], shape, " and ", names[v], values[v]->shape(),
                                " must have one shape")
            .with_id("ARG-SHAPE-008");
      }
      table.variables[v] = values[v]->raw();
    }
    if (shape.rank() < 1) return invalid_argument("a sparse update needs a variable of at least one axis");
    if (indices.shape().rank() != 1) {
      return invalid_argument("indices must be a vector, not of shape ", indices.shape());
    }
    if (!(gradient.shape() == shape.with(0, indices.elements()))) {
      return invalid_argument("the gradient must have shape ", shape.with(0, indices.elements()), ", not ",
                              gradient.shape())
          .with_id("ARG-SHAPE-008");
    }
    ARGOSY_ASSIGN_OR_RETURN(const cuda::GpuSlots slots,
                            cuda::GpuSlots::of(c, op_, indices_, cuda::paths_to_rows(shape), true));
    table.gradient = gradient.raw();
    table.count = slots.count();
    table.slice = slots.slice();
    table.slots = static_cast<const cuda::GpuSlot*>(slots.data());
    return cuda::launch(c, {"apply_rows", kernel_}, cuda::grid_for(table.count * table.slice), table);
  }

  const std::string op_;
  const DType dtype_;
  const std::string kernel_;
  int variables_ = 0, gradient_ = -1, indices_ = -1;
  std::vector<int> scalars_;
};

}  // namespace

void add_kernels_cuda_optimizer(KernelRegistry& kernels) {
  std::set<std::string> added;
  for (const Rule& r : kRules) {
    for (const char* prefix : {"Apply", "ResourceApply"}) {
      const std::string op = str_cat(prefix, r.name);
      if (builtin_ops().find(op) == nullptr || !added.insert(op).second) continue;
      kernels.add(op, "cuda", Apply::make, {{"T", cuda::kFloatingTypes}});
    }
  }
  for (const Rule& r : kRowRules) {
    for (const char* prefix : {"SparseApply", "ResourceSparseApply"}) {
      const std::string op = str_cat(prefix, r.name);
      if (builtin_ops().find(op) == nullptr || !added.insert(op).second) continue;
      kernels.add(op, "cuda", ApplyRows::make,
                  {{"T", cuda::kFloatingTypes}, {"Tindices", {DType::kInt32, DType::kInt64}}});
    }
  }
  kernels.add("_ApplyMany", "cuda", Apply::make_many, {{"T", cuda::kFloatingTypes}});
  kernels.add("_ResourceApplyMany", "cuda", Apply::make_many, {{"T", cuda::kFloatingTypes}});
}

}  // namespace argosy
