#include <array>
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/optimizer/distinct_slots.h"
#include "argosy/ops/optimizer/update_loops.h"
#include "argosy/ops/optimizer/update_shard.h"

namespace argosy {

namespace {

using optimizer::Loop;
using optimizer::LoopRow;
using optimizer::Update;

constexpr std::int64_t kGrain = 1 << 17;  // elements: several of them a nanosecond

// Where an op's inputs stand.
struct Inputs {
  int variables = 0;
  int gradient = -1;
  int indices = -1;
  int global_step = -1;  // also among the scalars
  int scalars = 0;
  std::array<int, Update::kMaxScalars> scalar{};
};

Inputs inputs_of(const OpDef& op) {
  Inputs in;
  for (int i = 0; i < static_cast<int>(op.input_args.size()); ++i) {
    const ArgDef& arg = op.input_args[i];
    if (arg.is_ref || arg.dtype == DType::kResource) {
      ++in.variables;
    } else if (arg.name == "grad" || arg.name == "delta") {
      in.gradient = i;
    } else if (arg.name == "indices") {
      in.indices = i;
    } else {
      if (arg.name == "global_step") in.global_step = i;
      in.scalar[in.scalars++] = i;
    }
  }
  return in;
}

std::string_view rule_of(std::string_view op) {
  for (const std::string_view prefix : {"Resource", "Sparse", "Apply"}) {
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  }
  return op;
}

class Apply final : public Kernel, public Workspace {
 public:
  Apply(const KernelInit& init, DType dtype, const LoopRow& row)
      : op_(init.op),
        in_(inputs_of(init.op)),
        dtype_(dtype),
        loop_(row.loop),
        zero_rate_(row.flag),
        shard_(UpdateShard::of(init.attrs)) {
    // TensorFlow looks at the numbers of these alone.
    checks_ = row.rule == "ProximalAdagrad" || (in_.indices >= 0 && row.rule.starts_with("Ftrl"));
  }

  static Result<std::unique_ptr<Kernel>> make_with(const KernelInit& init, std::span<const LoopRow> rows) {
    bool flag = false;
    for (const char* attr : {"use_nesterov", "update_slots", "multiply_linear_by_lr"}) {
      flag = flag || init.attrs.get_or(attr, false);
    }
    const DType dtype = init.attrs.get_type("T");
    for (const LoopRow& row : rows) {
      if (row.rule == rule_of(init.op.name) && row.flag == flag && row.dtype == dtype) {
        return std::unique_ptr<Kernel>(std::make_unique<Apply>(init, dtype, row));
      }
    }
    return unsupported_dtype(init.op.name, dtype);
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return make_with(init, optimizer::vector_loops());
  }
  static Result<std::unique_ptr<Kernel>> make_reference(const KernelInit& init) {
    return make_with(init, optimizer::reference_loops());
  }

  Status run(KernelContext& c) override {
    std::array<Variable*, Update::kMaxVariables> variables{};
    std::array<std::string_view, Update::kMaxVariables> names{};
    for (int i = 0; i < in_.variables; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(variables[i], c.variable(i));
      names[i] = c.input(i).data<ResourceHandle>()->name();
      if (variables[i]->dtype() != dtype_) {
        return invalid_argument("variable ", names[i], " is ", dtype_name(variables[i]->dtype()), ", not ",
                                dtype_name(dtype_));
      }
    }
    const auto count = static_cast<std::size_t>(in_.variables);
    ARGOSY_RETURN_IF_ERROR(optimizer::own_slots(std::span(variables.data(), count), std::span(names.data(), count)));
    ARGOSY_RETURN_IF_ERROR(Variable::update_all(
        std::span(variables.data(), count), std::span(names.data(), count),
        [&](std::span<Tensor* const> values) { return update(c, values, std::span(names.data(), count)); }));
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }
  // A sparse update notes where its rows begin.
  std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override {
    return in_.indices < 0 ? 0
                           : bytes_for(init.input_shapes[static_cast<std::size_t>(in_.indices)], sizeof(std::int64_t));
  }

 private:
  // Under the locks.
  Status update(KernelContext& c, std::span<Tensor* const> values, std::span<const std::string_view> names) const {
    Update u{};
    Tensor first = *values[0];
    if (shard_) {
      ARGOSY_ASSIGN_OR_RETURN(first, shard_->elements_of(*values[0]));
    }
    u.variables[0] = first.raw();
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (!(values[i]->shape() == first.shape())) {
        return invalid_argument("variables ", names[0], first.shape(), " and ", names[i], values[i]->shape(),
                                " must have one shape")
            .with_id("ARG-SHAPE-008");
      }
      u.variables[i] = values[i]->raw();
    }
    std::byte step[sizeof(double)];
    for (int i = 0; i < in_.scalars; ++i) {
      const Tensor& t = c.input(in_.scalar[i]);
      if (t.shape().rank() != 0) {
        return invalid_argument(op_.input_args[in_.scalar[i]].name, " must be a scalar, not of shape ", t.shape());
      }
      u.scalars[i] = t.raw();
      if (checks_) ARGOSY_RETURN_IF_ERROR(check_scalar(op_.input_args[in_.scalar[i]].name, t));
      if (in_.scalar[i] == in_.global_step) {
        ARGOSY_RETURN_IF_ERROR(convert_step(*t.data<std::int64_t>(), step));
        u.scalars[i] = step;
      }
    }
    const Tensor& gradient = c.input(in_.gradient);
    u.gradient = gradient.raw();
    u.slices = 1;
    const Shape& shape = first.shape();
    if (in_.indices >= 0) return update_rows(c, u, shape);
    if (!(gradient.shape() == shape)) {
      return invalid_argument("var and ", op_.input_args[in_.gradient].name, " do not have the same shape", shape, " ",
                              gradient.shape(), ": variable ", names[0], " and its gradient must have one shape")
          .with_id("ARG-SHAPE-008");
    }
    const std::int64_t n = shape.elements();
    parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) { loop_(u, n, begin, end); });
    return ok_status();
  }

  Status update_rows(KernelContext& c, Update& u, const Shape& shape) const {
    const Tensor& indices = c.input(in_.indices);
    const Shape& gradient = c.input(in_.gradient).shape();
    if (shape.rank() < 1) return invalid_argument("a sparse update needs a variable of at least one axis");
    if (indices.shape().rank() != 1) {
      return invalid_argument("indices must be a vector, not of shape ", indices.shape());
    }
    if (!(gradient == shape.with(0, indices.elements()))) {
      return invalid_argument("the gradient must have shape ", shape.with(0, indices.elements()), ", not ", gradient)
          .with_id("ARG-SHAPE-008");
    }
    const std::int64_t slice = shape[0] == 0 ? 0 : shape.elements() / shape[0];
    u.slices = indices.elements();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer memory, c.scratch(static_cast<std::size_t>(u.slices) * sizeof(std::int64_t)));
    auto* const starts = reinterpret_cast<std::int64_t*>(memory.data());
    const bool narrow = indices.dtype() == DType::kInt32;
    for (std::int64_t i = 0; i < u.slices; ++i) {
      const std::int64_t row = narrow ? indices.data<std::int32_t>()[i] : indices.data<std::int64_t>()[i];
      if (row < 0 || row >= shape[0]) {
        return invalid_argument("Index ", row, " at offset ", i, " in indices is out of range: indices[", i,
                                "] = ", row, " is not in [0, ", shape[0], ")")
            .with_id("ARG-INDEX-001");
      }
      starts[i] = row * slice;
    }
    u.starts = starts;
    // Rows in their order, for one may be named twice; threads share the columns.
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(u.slices, 1));
    parallel_for(slice, grain, [&](std::int64_t begin, std::int64_t end) { loop_(u, slice, begin, end); });
    return ok_status();
  }

  // Rates are positive, strengths of regularisation are not negative, the power of the rate is not positive.
  Status check_scalar(std::string_view name, const Tensor& t) const {
    return dispatch<FloatTypes>(dtype_, op_.name, [&]<typename T>() {
      const auto value = static_cast<float>(*t.data<T>());
      const bool fine = name == "lr"         ? value > 0 || (zero_rate_ && value == 0)
                        : name == "lr_power" ? value <= 0
                                             : value >= 0;
      return fine ? ok_status() : invalid_argument(name, " is out of range: ", value);
    });
  }

  Status convert_step(std::int64_t global_step, std::byte* to) const {
    return dispatch<FloatTypes>(dtype_, op_.name, [&]<typename T>() {
      const T value = T(static_cast<double>(global_step));
      std::memcpy(to, &value, sizeof value);
      return ok_status();
    });
  }

  const OpDef& op_;
  const Inputs in_;
  const DType dtype_;
  const Loop loop_;
  const bool zero_rate_;  // lr may be 0: linear is stored multiplied by it
  const std::optional<UpdateShard> shard_;
  bool checks_;
};

}  // namespace

void add_kernels_cpu_apply_many(KernelRegistry& kernels);

void add_kernels_cpu_optimizer(KernelRegistry& kernels) {
  add_kernels_cpu_apply_many(kernels);
  for (const LoopRow& row : optimizer::reference_loops()) {
    if (row.dtype != DType::kFloat32 || row.flag) continue;
    for (const char* prefix : {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"}) {
      const std::string op = str_cat(prefix, row.rule);
      if (builtin_ops().find(op) == nullptr) continue;
      kernels.add(op, "cpu", Apply::make);
      kernels.add(op, "cpu", Apply::make_reference);
    }
  }
}

}  // namespace argosy
