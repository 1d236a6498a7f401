#include "argosy/ops/scan/scan.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status scan_shape(ShapeContext& c) {
  if (c.input(1).has_rank() && c.input(1).elements() > 1) {
    return invalid_argument(c.op().name, ": axis must be one number, not of shape ", c.input(1));
  }
  if (const auto axis = c.input_as_int(1); axis && c.input(0).has_rank()) {
    const int rank = c.input(0).rank();
    if (*axis < -rank || *axis >= rank) {
      return invalid_argument("ScanOp: Expected scan axis in the range [", -rank, ", ", rank, "), but got ", *axis)
          .with_id("ARG-SHAPE-003");
    }
  }
  return same_as_input(c);
}

AttrMap scan_attrs(bool exclusive, bool reverse) { return {{"exclusive", exclusive}, {"reverse", reverse}}; }

Value scan(const char* op, GradContext& g, Value x, bool turned) {
  const bool reverse = g.attrs().get_bool("reverse") != turned;
  return g.graph().add(op, {x, g.x(1)}, scan_attrs(g.attrs().get_bool("exclusive"), reverse));
}

std::vector<Value> cumsum_gradient(GradContext& g) { return {scan("Cumsum", g, g.dy(), true), Value()}; }

// As TensorFlow's: undefined (0 here) beside a factor 0.
std::vector<Value> cumprod_gradient(GradContext& g) {
  return {div_no_nan(scan("Cumsum", g, g.y() * g.dy(), true), g.x(0)), Value()};
}

// y = log cumsum exp x: dx = exp(x) * reversed cumsum of dy * exp(-y), with positive and negative parts apart, in logs.
std::vector<Value> logsumexp_gradient(GradContext& g) {
  const Value dy = g.dy();
  const Value lowest = constant_like(dy, -std::numeric_limits<double>::infinity());
  const auto part = [&](Value positive, Value d) {
    const Value logs = g.graph().add("SelectV2", {positive, log(d), lowest});
    const Value sum = scan("CumulativeLogsumexp", g, logs - g.y(), true);
    return exp(sum + g.x(0));
  };
  return {part(greater(dy, 0), dy) - part(less(dy, 0), -dy), Value()};
}

}  // namespace

static void add_scan_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, const char* types, GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"x: T", "axis: Tidx"},
             .outputs = {"out: T"},
             .attrs = {"exclusive: bool = false", "reverse: bool = false", types, "Tidx: index = int32"},
             .shape = scan_shape,
             .gradient = gradient,
             .in_place = {{0, 0}},
             .host_inputs = {1}});
  };
  add("Cumsum", "Running sums along an axis.", "T: number", cumsum_gradient);
  add("Cumprod", "Running products along an axis.", "T: number", cumprod_gradient);
  add("CumulativeLogsumexp", "Running log(sum(exp(x))) along an axis.", "T: floating", logsumexp_gradient);
}

void define_scan(OpRegistry& ops) {
  with_sharding(ops, add_scan_ops,
                {{"Cumsum", {}, linear_scan_sharding},
                 {"Cumprod", {}, scan_sharding},
                 {"CumulativeLogsumexp", {}, scan_sharding}});
}

namespace {
Value scan(const char* op, Value x, int axis, ScanOptions options) {
  if (!x.valid()) return x;
  return x.graph().add(op, {x, constant(x.graph(), axis)}, scan_attrs(options.exclusive, options.reverse));
}
}  // namespace

Value cumsum(Value x, int axis, ScanOptions options) { return scan("Cumsum", x, axis, options); }
Value cumprod(Value x, int axis, ScanOptions options) { return scan("Cumprod", x, axis, options); }
Value cumulative_logsumexp(Value x, int axis, ScanOptions options) {
  return scan("CumulativeLogsumexp", x, axis, options);
}

}  // namespace argosy
