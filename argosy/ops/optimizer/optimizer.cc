#include "argosy/ops/optimizer/optimizer.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/optimizer/update_shard.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// One rule: its op's inputs in order, as TensorFlow names them. The first `variables` are variables; "indices" stands
// where the sparse op takes them and is left out of the dense one.
struct UpdateRow {
  const char* rule;
  const char* doc;
  int variables;
  const char* dense;   // null: there is none
  const char* sparse;  // likewise
  const char* attr = nullptr;
  bool resource_only = false;
};
constexpr UpdateRow kRows[] = {
    {"GradientDescent", "var -= alpha * delta", 1, "var alpha delta", nullptr},
    {"ProximalGradientDescent", "A gradient step, then shrinkage by l1 and l2.", 1, "var alpha l1 l2 delta",
     "var alpha l1 l2 grad indices"},
    {"Adadelta", "A step scaled by the ratio of running means of updates and gradients.", 3,
     "var accum accum_update lr rho epsilon grad", "var accum accum_update lr rho epsilon grad indices"},
    {"Adagrad", "accum += grad²; var -= lr * grad / √accum", 2, "var accum lr grad", "var accum lr grad indices",
     "update_slots: bool = true"},
    {"AdagradV2", "accum += grad²; var -= lr * grad / (√accum + epsilon)", 2, "var accum lr epsilon grad",
     "var accum lr epsilon grad indices", "update_slots: bool = true"},
    {"ProximalAdagrad", "Adagrad, then shrinkage by l1 and l2.", 2, "var accum lr l1 l2 grad",
     "var accum lr l1 l2 grad indices"},
    {"AdagradDA", "Adagrad by dual averaging.", 3,
     "var gradient_accumulator gradient_squared_accumulator grad lr l1 l2 global_step",
     "var gradient_accumulator gradient_squared_accumulator grad indices lr l1 l2 global_step"},
    {"Momentum", "accum = momentum * accum + grad; var -= lr * accum", 2, "var accum lr grad momentum",
     "var accum lr grad indices momentum", "use_nesterov: bool = false"},
    {"KerasMomentum", "accum = momentum * accum - lr * grad; var += accum", 2, "var accum lr grad momentum",
     "var accum lr grad indices momentum", "use_nesterov: bool = false", true},
    {"Adam", "A step by running means of the gradient and its square.", 3,
     "var m v beta1_power beta2_power lr beta1 beta2 epsilon grad", nullptr, "use_nesterov: bool = false"},
    {"AdamWithAmsgrad", "Adam by the greatest mean square so far.", 4,
     "var m v vhat beta1_power beta2_power lr beta1 beta2 epsilon grad", nullptr, nullptr, true},
    {"AdaMax", "Adam with the greatest gradient in place of the mean square.", 3,
     "var m v beta1_power lr beta1 beta2 epsilon grad", nullptr},
    {"RMSProp", "A step scaled by the running root mean square of the gradient.", 3,
     "var ms mom lr rho momentum epsilon grad", "var ms mom lr rho momentum epsilon grad indices"},
    {"CenteredRMSProp", "A step scaled by the running standard deviation of the gradient.", 4,
     "var mg ms mom lr rho momentum epsilon grad", "var mg ms mom lr rho momentum epsilon grad indices"},
    {"AddSign", "A step longer where gradient and momentum agree.", 2, "var m lr alpha sign_decay beta grad", nullptr},
    {"PowerSign", "A step longer, by a factor, where gradient and momentum agree.", 2,
     "var m lr logbase sign_decay beta grad", nullptr},
    {"Ftrl", "Follow the regularised leader.", 3, "var accum linear grad lr l1 l2 lr_power",
     "var accum linear grad indices lr l1 l2 lr_power", "multiply_linear_by_lr: bool = false"},
    {"FtrlV2", "Follow the regularised leader, with shrinkage.", 3,
     "var accum linear grad lr l1 l2 l2_shrinkage lr_power",
     "var accum linear grad indices lr l1 l2 l2_shrinkage lr_power", "multiply_linear_by_lr: bool = false"},
};

// Of one shard: slots and gradient are vectors of its elements.
Result<PartialShape> shape_of_shard(const UpdateShard& shard, const PartialShape& variable) {
  if (!variable.is_full()) return PartialShape{kUnknownSize};
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t elements, shard.size(variable.elements()));
  return PartialShape{elements};
}

// Variables have one shape, and so has the gradient (its rows, beside indices); everything else is one number.
Status apply_shape(ShapeContext& c) {
  const std::optional<UpdateShard> shard = UpdateShard::of(c.attrs());
  PartialShape shape, whole;
  PartialShape grad;
  std::string_view gradient_name;  // "grad" or "delta"
  bool sparse = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const ArgDef& arg = c.op().input_args[i];
    if (arg.is_ref || arg.dtype == DType::kResource) {
      const bool known = arg.is_ref || c.handle(i) != nullptr;
      const PartialShape& variable = arg.is_ref ? c.input(i) : known ? c.handle(i)->shape : shape;
      if (shard && i == 0) {
        whole = variable;
        ARGOSY_ASSIGN_OR_RETURN(shape, shape_of_shard(*shard, whole));
        continue;
      }
      ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(variable));
    } else if (arg.name == "grad" || arg.name == "delta") {
      grad = c.input(i);
      gradient_name = arg.name;
    } else if (arg.name == "indices") {
      sparse = true;
      ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 1).status());
      if (shape.rank() == 0) return invalid_argument(c.op().name, ": var must have at least one axis");
    } else {
      ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
    }
  }
  if (!sparse) {
    if (!shape.compatible(grad)) {
      return invalid_argument("var and ", gradient_name, " do not have the same shape", shape, " ", grad)
          .with_id("ARG-SHAPE-008");
    }
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(grad));
  } else if (shape.has_rank()) {
    std::vector<std::int64_t> rows = shape.sizes();
    rows[0] = PartialShape::kUnknown;
    ARGOSY_RETURN_IF_ERROR(PartialShape(std::move(rows)).merge(grad).status());
  }
  if (c.num_outputs() > 0) c.set_output(0, shard ? std::move(whole) : std::move(shape));
  return ok_status();
}

// About ten operations an element; every variable read and written, the gradient read.
Cost apply_cost(const ShapeContext& c) {
  Cost cost;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const ArgDef& arg = c.op().input_args[i];
    if (arg.name != "grad" && arg.name != "delta") continue;
    const double elements = static_cast<double>(std::max<std::int64_t>(c.input(i).elements(), 1));
    cost.flops = 10 * elements;
    cost.bytes = 8 * elements * static_cast<double>(element_bytes(c.input_dtype(i)));
  }
  return cost;
}

OpSpec spec(const UpdateRow& row, bool sparse, bool resource) {
  OpSpec op{.name = str_cat(resource ? "Resource" : "", sparse ? "SparseApply" : "Apply", row.rule),
            .doc = row.doc,
            .attrs = {"T: number", "use_locking: bool = false"},
            .shape = apply_shape,
            .gradient = kNotDifferentiable,
            .cost = apply_cost,
            .stateful = resource};
  if (sparse) op.attrs.push_back("Tindices: index");
  if (row.attr != nullptr) op.attrs.push_back(row.attr);
  if (!sparse) op.update = {.variables = row.variables};
  int position = 0;
  std::string operands, updates;  // of its sharding rule: elementwise, or row by row where indices say
  for (const std::string& name : str_split(sparse ? row.sparse : row.dense, ' ')) {
    if (position < row.variables) updates += str_cat(" ", position);
    const bool is_gradient = name == "grad" || name == "delta";
    operands += str_cat(position == 0 ? "" : ", ", position < row.variables ? (sparse ? "v d.." : "i..")
                                                   : is_gradient            ? (sparse ? "n d.." : "i..")
                                                   : name == "indices"      ? "n"
                                                                            : ".");
    if (!sparse && is_gradient) op.update->gradient = position;
    const bool variable = position++ < row.variables;
    const char* type = variable ? (resource ? "resource" : "Ref(T)") : name == "indices" ? "Tindices" : "T";
    op.inputs.push_back(str_cat(name, ": ", name == "global_step" ? "int64" : type));
  }
  if (!resource) op.outputs = {"out: Ref(T)"};
  op.sharding = str_cat(operands, " ->",
                        resource ? ""
                        : sparse ? " v d.."
                                 : " i..",
                        "; updates", updates, sparse ? "; rows v; whole n" : "");
  return op;
}

}  // namespace

void define_apply_many(OpRegistry& ops);

static void add_optimizer_ops(OpRegistry& ops) {
  define_apply_many(ops);
  for (const UpdateRow& row : kRows) {
    ops.add(spec(row, false, true));
    if (!row.resource_only) ops.add(spec(row, false, false));
    if (row.sparse == nullptr) continue;
    ops.add(spec(row, true, true));
    if (!row.resource_only) ops.add(spec(row, true, false));
  }
}

void define_optimizer(OpRegistry& ops) {
  with_sharding(ops, add_optimizer_ops,
                {{"_ApplyMany", "whole: a pass makes it after sharding"},
                 {"_ResourceApplyMany", "whole: a pass makes it after sharding"}});
}

Value apply_rule(std::string_view rule, const std::vector<VariableNode>& variables, std::vector<Value> values,
                 AttrMap attrs) {
  if (variables.empty() || !variables[0].ref.valid()) return {};
  const VariableNode& w = variables[0];
  Graph& graph = w.ref.graph();
  const bool sparse = rule.starts_with("Sparse");
  if (sparse) rule.remove_prefix(6);
  std::vector<Value> inputs;
  for (const VariableNode& v : variables) inputs.push_back(v.ref);
  inputs.insert(inputs.end(), values.begin(), values.end());
  if (w.is_resource()) attrs.set("T", w.dtype());
  const auto colocated = graph.colocate_with(w.ref);
  const std::string name = str_cat(sparse ? "SparseApply" : "Apply", rule);
  return graph.add(w.is_resource() ? "Resource" + name : name, std::move(inputs), std::move(attrs),
                   str_cat("update_", w.ref.node_name(), "/", name));
}

Value apply_gradient_descent(const VariableNode& w, Value lr, Value grad) {
  return apply_rule("GradientDescent", {w}, {lr, grad});
}
Value apply_momentum(const VariableNode& w, const VariableNode& accum, Value lr, Value grad, Value momentum,
                     bool use_nesterov) {
  return apply_rule("Momentum", {w, accum}, {lr, grad, momentum}, {{"use_nesterov", use_nesterov}});
}
Value apply_adagrad(const VariableNode& w, const VariableNode& accum, Value lr, Value grad) {
  return apply_rule("Adagrad", {w, accum}, {lr, grad});
}
Value apply_adadelta(const VariableNode& w, const VariableNode& accum, const VariableNode& accum_update, Value lr,
                     Value rho, Value epsilon, Value grad) {
  return apply_rule("Adadelta", {w, accum, accum_update}, {lr, rho, epsilon, grad});
}
Value apply_rms_prop(const VariableNode& w, const VariableNode& ms, const VariableNode& mom, Value lr, Value rho,
                     Value momentum, Value epsilon, Value grad) {
  return apply_rule("RMSProp", {w, ms, mom}, {lr, rho, momentum, epsilon, grad});
}
Value apply_adam(const VariableNode& w, const VariableNode& m, const VariableNode& v, Value beta1_power,
                 Value beta2_power, Value lr, Value beta1, Value beta2, Value epsilon, Value grad, bool use_nesterov) {
  return apply_rule("Adam", {w, m, v}, {beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad},
                    {{"use_nesterov", use_nesterov}});
}
Value apply_ftrl(const VariableNode& w, const VariableNode& accum, const VariableNode& linear, Value grad, Value lr,
                 Value l1, Value l2, Value lr_power) {
  return apply_rule("Ftrl", {w, accum, linear}, {grad, lr, l1, l2, lr_power});
}

}  // namespace argosy
