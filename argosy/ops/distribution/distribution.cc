#include "argosy/ops/distribution/distribution.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

void define_broadcast_samples(OpRegistry& ops);  // broadcast_samples.cc

namespace {

Status expect_shape_vector(const ShapeContext& c, int i) {
  if (c.input(i).has_rank() && c.input(i).rank() != 1) {
    return invalid_argument(c.op().name, ": shape must be a vector, not of shape ", c.input(i));
  }
  const PartialInts* const known = c.ints(i);
  for (std::size_t k = 0; known != nullptr && k < known->size(); ++k) {
    if ((*known)[k].value_or(0) < 0) return invalid_argument(c.op().name, ": shape[", k, "] is ", *(*known)[k]);
  }
  return ok_status();
}

Status expect_size(const ShapeContext& c, int i, std::int64_t size) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, c.with_rank(i, 1));
  if (!shape.compatible({size})) {
    return invalid_argument(c.op().name, ": ", c.op().input_args[static_cast<std::size_t>(i)].name, " must hold ", size,
                            " integer(s), not be of shape ", shape);
  }
  return ok_status();
}

// `shape`, then the parameter's axes.
Status per_parameter_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_shape_vector(c, 0));
  const PartialShape front = c.input_as_shape(0);
  const PartialShape& back = c.input(1);
  if (!front.has_rank() || !back.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = front.sizes();
  sizes.insert(sizes.end(), back.sizes().begin(), back.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// `shape` is the whole result's.
Status whole_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_shape_vector(c, 0));
  if (c.op().input_args[1].name == "seed") ARGOSY_RETURN_IF_ERROR(expect_size(c, 1, 2));
  if (c.op().input_args[1].name == "key") ARGOSY_RETURN_IF_ERROR(expect_size(c, 1, 1));
  c.set_output(0, c.input_as_shape(0));
  return ok_status();
}

Status stateful_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (i != 2 && c.input(i).rank() > 0) {
      return invalid_argument(c.op().name, ": ", c.op().input_args[static_cast<std::size_t>(i)].name,
                              " must be a scalar, not of shape ", c.input(i));
    }
  }
  ARGOSY_RETURN_IF_ERROR(expect_shape_vector(c, 2));
  c.set_output(0, c.input_as_shape(2));
  return ok_status();
}

Status chance_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_shape_vector(c, 0));
  c.set_output(0, c.input_as_shape(0));
  return ok_status();
}

Status skip_shape(ShapeContext& c) {
  for (int i = 1; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  if (c.num_outputs() > 0) c.set_output(0, {PartialShape::kUnknown});
  return ok_status();
}

Status shuffle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_size(c, 1, 1));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  c.set_output(0, c.input(0));
  return ok_status();
}

// The derivative of a sample by its alpha, at a fixed cumulative probability; summed over the samples of each alpha.
std::vector<Value> gamma_gradient(GradContext& g) {
  const Value alpha = g.x(1);
  const Value slopes = g.graph().add("RandomGammaGrad", {alpha, g.y()});
  std::vector<Value> dxs(2);
  dxs[1] = sum_to_shape_of(alpha, g.dy() * slopes);
  return dxs;
}

void define_parameterized(OpRegistry& ops) {
  const std::vector<std::string> seeds = {"seed: int = 0", "seed2: int = 0"};
  add_rows(ops, {{"RandomGamma",
                  "Gamma(alpha, 1), so many for every alpha.",
                  {"shape: S", "alpha: T"},
                  {"output: T"},
                  {seeds[0], seeds[1], "S: index", "T: {half, float, double}"},
                  per_parameter_shape,
                  {.gradient = gamma_gradient, .stateful = true, .cpu_only = true, .random = true, .host_inputs = {0}}},
                 {"RandomPoisson",
                  "Poisson, so many for every rate.",
                  {"shape: S", "rate: dtype"},
                  {"output: dtype"},
                  {seeds[0], seeds[1], "S: index", "dtype: {half, float, double}"},
                  per_parameter_shape,
                  {.stateful = true, .cpu_only = true, .blocks_gradient = true, .random = true, .host_inputs = {0}}},
                 {"RandomPoissonV2",
                  "Poisson, so many for every rate.",
                  {"shape: S", "rate: R"},
                  {"output: dtype"},
                  {seeds[0], seeds[1], "S: index", "R: {half, float, double, int32, int64} = double",
                   "dtype: {half, float, double, int32, int64} = int64"},
                  per_parameter_shape,
                  {.stateful = true, .cpu_only = true, .blocks_gradient = true, .random = true, .host_inputs = {0}}},
                 {"ParameterizedTruncatedNormal",
                  "Normal numbers between bounds; parameters per row of the result.",
                  {"shape: T", "means: dtype", "stdevs: dtype", "minvals: dtype", "maxvals: dtype"},
                  {"output: dtype"},
                  {seeds[0], seeds[1], "dtype: {half, bfloat16, float, double}", "T: index"},
                  chance_shape,
                  {.stateful = true, .blocks_gradient = true, .random = true, .host_inputs = {0}}},
                 {"StatelessRandomGammaV2",
                  "Gamma(alpha, 1) from a seed of two integers.",
                  {"shape: T", "seed: Tseed", "alpha: dtype"},
                  {"output: dtype"},
                  {"dtype: {half, float, double}", "T: index", "Tseed: index = int64"},
                  whole_shape,
                  {.host_inputs = {0, 1}}},
                 {"StatelessRandomGammaV3",
                  "Gamma(alpha, 1) from a key and a counter.",
                  {"shape: shape_dtype", "key: uint64", "counter: uint64", "alg: int32", "alpha: dtype"},
                  {"output: dtype"},
                  {"dtype: {half, float, double}", "shape_dtype: index = int32"},
                  whole_shape,
                  {.host_inputs = {0, 3}}},
                 {"StatelessRandomPoisson",
                  "Poisson from a seed of two integers.",
                  {"shape: T", "seed: Tseed", "lam: Rtype"},
                  {"output: dtype"},
                  {"Rtype: {half, float, double, int32, int64}", "dtype: {half, float, double, int32, int64}",
                   "T: index", "Tseed: index = int64"},
                  whole_shape,
                  {.cpu_only = true, .blocks_gradient = true, .host_inputs = {0, 1}}},
                 {"StatelessShuffle",
                  "Rows in an order that follows from a key and a counter.",
                  {"value: T", "key: uint64", "counter: uint64", "alg: int32"},
                  {"output: T"},
                  {"T: type"},
                  shuffle_shape,
                  {.cpu_only = true, .host_inputs = {3}}}});
}

void define_generators(OpRegistry& ops) {
  const auto row = [](const char* name, const char* doc, const std::string& dtype) {
    return OpRow{name,
                 doc,
                 {"resource: resource", "algorithm: int64", "shape: shape_dtype"},
                 {"output: dtype"},
                 {"dtype: type = " + dtype, "shape_dtype: type = int64"}};
  };
  OpRow bounded = row("StatefulUniformInt", "Integers in [minval, maxval), from a generator in a variable.", "int64");
  bounded.inputs.insert(bounded.inputs.end(), {"minval: dtype", "maxval: dtype"});
  bounded.facts.host_inputs = {1, 2, 3, 4};
  add_rows(
      ops,
      {row("StatefulUniform", "Uniform in [0, 1), from a generator in a variable.", "float"),
       row("StatefulStandardNormalV2", "Standard normal, from a generator in a variable.", "float"),
       row("StatefulTruncatedNormal",
           "Standard normal, drawn again beyond two deviations, from a generator in a variable.", "float"),
       row("StatefulUniformFullInt", "Integers of every value, from a generator in a variable.", "uint64"), bounded},
      {.shape = stateful_shape, .stateful = true, .blocks_gradient = true, .host_inputs = {1, 2}});
  ops.add({.name = "RngSkip",
           .doc = "Moves a generator in a variable on.",
           .inputs = {"resource: resource", "algorithm: int64", "delta: int64"},
           .shape = skip_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .host_inputs = {1, 2}});
  ops.add({.name = "RngReadAndSkip",
           .doc = "A generator in a variable as it is; then moves it on.",
           .inputs = {"resource: resource", "alg: int32", "delta: uint64"},
           .outputs = {"value: int64"},
           .shape = skip_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .blocks_gradient = true,
           .host_inputs = {1, 2}});
  ops.add({.name = "NonDeterministicInts",
           .doc = "Integers that nobody can foretell.",
           .inputs = {"shape: shape_dtype"},
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type = int64", "shape_dtype: type = int64"},
           .shape = chance_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .blocks_gradient = true,
           .host_inputs = {0}});
}

}  // namespace

static void add_distribution_ops(OpRegistry& ops) {
  define_parameterized(ops);
  define_generators(ops);
  define_broadcast_samples(ops);
}

void define_distribution(OpRegistry& ops) {
  with_sharding(ops, add_distribution_ops, {}, "whole: it draws, and no kernel draws a part of its stream");
}

Value random_gamma(Value shape, Value alpha, std::optional<std::int64_t> seed) {
  if (!shape.valid()) return shape;
  const auto [first, second] = op_seeds(shape.graph(), seed);
  return shape.graph().add("RandomGamma", {shape, alpha}, {{"seed", first}, {"seed2", second}});
}
Value random_poisson(Value shape, Value rate, DType dtype, std::optional<std::int64_t> seed) {
  if (!shape.valid()) return shape;
  const auto [first, second] = op_seeds(shape.graph(), seed);
  return shape.graph().add("RandomPoissonV2", {shape, rate}, {{"seed", first}, {"seed2", second}, {"dtype", dtype}});
}

}  // namespace argosy
