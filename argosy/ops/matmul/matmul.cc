#include "argosy/ops/matmul/matmul.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/matmul/batch_matmul.h"
#include "argosy/ops/matmul/fused_ops.h"

namespace argosy {

namespace {

constexpr const char* kType =
    "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}";

Status matmul_shape(ShapeContext& c) {
  const bool ta = c.attrs().get_bool("transpose_a");
  const bool tb = c.attrs().get_bool("transpose_b");
  if (c.input(0).has_rank() && c.input(1).has_rank() && c.input(0).rank() != c.input(1).rank()) {
    return invalid_argument("In[0] and In[1] has different ndims: ", c.input(0), " vs. ", c.input(1), ": ", c.op().name,
                            ": input 0 (a) and input 1 (b) must have rank 2")
        .with_id("ARG-SHAPE-004");
  }
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape a, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(1, 2));
  const std::int64_t ka = a[ta ? 0 : 1];
  const std::int64_t kb = b[tb ? 1 : 0];
  if (ka >= 0 && kb >= 0 && ka != kb) {
    return invalid_argument("Matrix size-incompatible: In[0]: ", a, ", In[1]: ", b, ": ", c.op().name,
                            ": inner dimensions differ: ", a, ta ? " (transposed)" : "", " x ", b,
                            tb ? " (transposed)" : "")
        .with_id("ARG-SHAPE-010")
        .with_hint("check transpose_a and transpose_b, or the width of the layer before");
  }
  c.set_output(0, {a[ta ? 1 : 0], b[tb ? 0 : 1]});
  return ok_status();
}

Status fused_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(matmul_shape(c));
  ARGOSY_ASSIGN_OR_RETURN(const FusedOps fused, parse_fused_ops(c.op().name, c.attrs(), c.num_inputs() - 2));
  if (!fused.bias) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape bias, c.with_rank(2, 1));
  PartialShape out = c.output(0);
  if (bias[0] >= 0 && out[1] >= 0 && bias[0] != out[1]) {
    return invalid_argument(c.op().name, ": bias has ", bias[0], " elements, the product ", out[1], " columns");
  }
  return ok_status();
}

Cost matmul_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const PartialShape& a = c.input(0);
  const double k = a.rank() == 2 ? static_cast<double>(a[c.attrs().get_bool("transpose_a") ? 0 : 1]) : 1;
  cost.flops *= 2 * std::max(k, 1.0);
  return cost;
}

Value conj(Value x) { return is_complex(x.dtype()) ? x.graph().add("Conj", {x}) : x; }

// y = A·B with A = op(a), B = op(b)  =>  dA = dy·Bᵀ, dB = Aᵀ·dy, each written without a transposed copy
std::vector<Value> matmul_gradient(GradContext& g) {
  const bool ta = g.attrs().get_bool("transpose_a");
  const bool tb = g.attrs().get_bool("transpose_b");
  const Value a = conj(g.x(0)), b = conj(g.x(1)), dy = g.dy();
  const auto product = [&](Value x, Value y, bool tx, bool ty) {
    return g.graph().add("MatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  const Value da = ta ? product(b, dy, tb, true) : product(dy, b, false, !tb);
  const Value db = tb ? product(dy, a, true, ta) : product(a, dy, !ta, false);
  return {da, db};
}

}  // namespace

void define_matmul(OpRegistry& ops) {
  ops.add({.name = "MatMul",
           .doc = "a · b of two matrices, each transposed first where asked.",
           .inputs = {"a: T", "b: T"},
           .outputs = {"product: T"},
           .attrs = {"transpose_a: bool = false", "transpose_b: bool = false", kType, "grad_a: bool = false",
                     "grad_b: bool = false"},
           .shape = matmul_shape,
           .gradient = matmul_gradient,
           .cost = matmul_cost,
           .linear = Linear::kEach,
           .fused_as = "_FusedMatMul",
           .sharding = "i k, k j -> i j; sum k; linear each; flip transpose_a 0; flip transpose_b 1"});
  ops.add({.name = "_FusedMatMul",
           .doc = "activation(a · b + bias): what a pass makes of MatMul, BiasAdd and an activation.",
           .inputs = {"a: T", "b: T", "args: num_args * T"},
           .outputs = {"product: T"},
           .attrs = {"transpose_a: bool = false", "transpose_b: bool = false", "T: floating", "num_args: int >= 0",
                     "fused_ops: list(string) = []", "epsilon: float = 0.0001", "leakyrelu_alpha: float = 0.2"},
           .shape = fused_shape,
           .gradient = kNotDifferentiable,
           .cost = matmul_cost,
           .sharding = "whole: a pass makes it after sharding"});
  define_batch_matmul(ops);
}

Value matmul(Value a, Value b, MatMulOptions options, std::string_view name) {
  if (!a.valid() || !b.valid()) return {};
  if (a.shape().rank() > 2 || b.shape().rank() > 2) {
    if (!is_complex(a.dtype())) {
      return a.graph().add("BatchMatMulV2", {a, b}, {{"adj_x", options.transpose_a}, {"adj_y", options.transpose_b}},
                           name);
    }
    if (options.transpose_a) a = conj(a);  // adj_x conjugates, too
    if (options.transpose_b) b = conj(b);
    return a.graph().add("BatchMatMulV2", {a, b}, {{"adj_x", options.transpose_a}, {"adj_y", options.transpose_b}},
                         name);
  }
  return a.graph().add("MatMul", {a, b}, {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}},
                       name);
}

Value matmul_bias(Value x, Value w, Value bias, std::string_view name) {
  if (!x.valid()) return {};
  const auto scope = x.graph().name_scope(name);
  return x.graph().add("BiasAdd", {matmul(x, w), bias});
}

}  // namespace argosy
