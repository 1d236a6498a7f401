#include "argosy/ops/shape/range.h"

#include <cmath>
#include <limits>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {

Result<std::int64_t> range_size(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) return invalid_argument("Requires delta != 0: ", delta, ": Range: delta must not be zero");
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit)) {
    return invalid_argument("Requires start ", delta > 0 ? "<=" : ">=", " limit when delta ", delta > 0 ? ">" : "<",
                            " 0: ", start, "/", limit, ": Range: no way from ", start, " to ", limit, " in steps of ",
                            delta);
  }
  // Distances as unsigned numbers: that from the least to the greatest int64 fits.
  const auto distance = delta > 0 ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
                                  : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
  const auto step =
      delta > 0 ? static_cast<std::uint64_t>(delta) : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
  const std::uint64_t steps = distance / step + (distance % step != 0);
  if (steps > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return invalid_argument("Range: from ", start, " to ", limit, " there are 2^63 elements or more");
  }
  return static_cast<std::int64_t>(steps);
}

Result<std::int64_t> range_size(double start, double limit, double delta, double steps) {
  if (delta == 0 || std::isnan(delta)) return invalid_argument("Range: delta must be a number other than zero");
  if (!((delta > 0 && start <= limit) || (delta < 0 && start >= limit))) {
    return invalid_argument("Requires start ", delta > 0 ? "<=" : ">=", " limit when delta ", delta > 0 ? ">" : "<",
                            " 0: ", start, "/", limit, ": Range: no way from ", start, " to ", limit, " in steps of ",
                            delta);
  }
  const double size = std::ceil(std::abs(steps));
  if (!(size < 0x1p63)) {
    return invalid_argument("Range: from ", start, " to ", limit, " in steps of ", delta, ": 2^63 elements or more");
  }
  return static_cast<std::int64_t>(size);
}

namespace {

Status scalars(const ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).is_full() && c.input(i).elements() != 1) {
      return invalid_argument(c.op().name, ": ", c.op().input_args[i].name, " must be a scalar, not of shape ",
                              c.input(i));
    }
  }
  return ok_status();
}

Status range_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalars(c));
  c.set_output(0, PartialShape::unknown_of_rank(1));
  const auto start = c.input_as_int(0), limit = c.input_as_int(1), delta = c.input_as_int(2);
  if (delta == 0) return invalid_argument("Requires delta != 0: 0: Range: delta must not be zero");
  if (!start || !limit || !delta) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, range_size(*start, *limit, *delta));
  c.set_output(0, PartialShape({size}));
  return ok_status();
}

std::optional<PartialInts> range_ints(const ShapeContext& c, int) {
  const auto start = c.input_as_int(0), delta = c.input_as_int(2);
  const std::int64_t n = c.output(0).elements();
  if (!start || !delta || n < 0 || n > 1024) return std::nullopt;
  PartialInts values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(*start + i * *delta);
  return values;
}

Status linspace_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalars(c));
  const auto num = c.input_as_int(2);
  if (num && *num <= 0)
    return invalid_argument("Requires num > 0: ", *num, ": LinSpace: num must be above zero, not ", *num);
  c.set_output(0, PartialShape({num.value_or(PartialShape::kUnknown)}));
  return ok_status();
}

}  // namespace

void define_ranges(OpRegistry& ops) {
  ops.add(
      {.name = "Range",
       .doc = "start, start + delta, … below limit.",
       .inputs = {"start: Tidx", "limit: Tidx", "delta: Tidx"},
       .outputs = {"output: Tidx"},
       .attrs = {"Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32"},
       .shape = range_shape,
       .gradient = kNotDifferentiable,
       .known_ints = range_ints,
       .in_host_memory = true,
       .blocks_gradient = true,
       .sharding = "whole: it counts from one end to the other",
       .host_inputs = {0, 1, 2}});
  ops.add({.name = "LinSpace",
           .doc = "num values from start to stop, both included.",
           .inputs = {"start: T", "stop: T", "num: Tidx"},
           .outputs = {"output: T"},
           .attrs = {"T: floating", "Tidx: index = int32"},
           .shape = linspace_shape,
           .gradient = kNotDifferentiable,
           .in_host_memory = true,
           .blocks_gradient = true,
           .sharding = "whole: it counts from one end to the other",
           .host_inputs = {0, 1, 2}});
}

Value range(Value start, Value limit, Value delta) {
  return start.valid() ? start.graph().add("Range", {start, limit, delta}) : start;
}
Value range(Graph& graph, std::int32_t limit) {
  return range(constant(graph, std::int32_t{0}), constant(graph, limit), constant(graph, std::int32_t{1}));
}
Value linspace(Value start, Value stop, Value num) {
  return start.valid() ? start.graph().add("LinSpace", {start, stop, num}) : start;
}

}  // namespace argosy
