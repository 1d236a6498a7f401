// Definitions: samples whose parameters broadcast together, shuffled indices, Sobol's points.
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

// The result's shape is input `at`, a vector.
Status shape_given(ShapeContext& c, int at) {
  if (c.input(at).has_rank() && c.input(at).rank() != 1)
    return invalid_argument("Input shape should be a vector, got shape: ", c.input(at));
  const PartialInts* const known = c.ints(at);
  for (std::size_t k = 0; known != nullptr && k < known->size(); ++k) {
    if ((*known)[k].value_or(0) < 0)
      return invalid_argument("Dimension ", *(*known)[k], " must be >= 0: ", c.op().name, ": shape[", k, "]");
  }
  c.set_output(0, c.input_as_shape(at));
  return ok_status();
}

Status stateless_shape(ShapeContext& c) {
  const PartialShape& seed = c.input(1);
  if (!seed.compatible({2})) return invalid_argument("seed must have shape [2], not ", seed);
  return shape_given(c, 0);
}
Status generator_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  return shape_given(c, 2);
}

Status index_shape(ShapeContext& c) {
  const PartialShape &index = c.input(0), &seed = c.input(1), &most = c.input(2);
  if (!index.has_rank() || !seed.has_rank() || !most.has_rank()) return ok_status();
  if (index.rank() > 1) return invalid_argument("Index bust be a scalar or vector. Here it has shape ", index);
  if (seed.rank() < 1 || seed.rank() > 2)
    return invalid_argument("Seed must be a vector of size [3] or a matrix of size [n, 3] but got ", seed, ".");
  if (most.rank() > 1)
    return invalid_argument("Maxval must be a scalar or a vector of the same size as index but got ", most);
  PartialShape n = PartialShape::scalar();
  if (seed.rank() == 2) n = PartialShape{seed[0]};
  for (const PartialShape* vector : {&index, &most}) {
    if (vector->rank() == 0) continue;
    if (n.rank() == 0) {
      n = *vector;
    } else if (vector->compatible(n)) {
      ARGOSY_ASSIGN_OR_RETURN(n, n.merge(*vector));
    } else {
      return invalid_argument("RandomIndexShuffle: index, seed and max_index must have as many rows, not ", index, ", ",
                              seed, " and ", most);
    }
  }
  c.set_output(0, n);
  return ok_status();
}

Status sobol_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  const auto size = [&](int i) {
    const auto known = c.input_as_int(i);
    return known && *known >= 0 ? *known : kUnknownSize;
  };
  c.set_output(0, PartialShape{size(1), size(0)});
  return ok_status();
}

}  // namespace

void define_broadcast_samples(OpRegistry& ops) {
  const std::vector<std::string> binomial_attrs = {"S: index", "T: {half, float, double, int32, int64} = double",
                                                   "dtype: {half, float, double, int32, int64} = int64"};
  ops.add({.name = "StatelessParameterizedTruncatedNormal",
           .doc = "Normal numbers between bounds, from a seed of two integers; parameters broadcast together.",
           .inputs = {"shape: S", "seed: Tseed", "means: dtype", "stddevs: dtype", "minvals: dtype", "maxvals: dtype"},
           .outputs = {"output: dtype"},
           .attrs = {"S: index", "Tseed: index = int64", "dtype: {half, float, double}"},
           .shape = stateless_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .host_inputs = {0, 1}});
  ops.add({.name = "StatelessRandomBinomial",
           .doc = "Successes among so many trials, from a seed of two integers; parameters broadcast together.",
           .inputs = {"shape: S", "seed: Tseed", "counts: T", "probs: T"},
           .outputs = {"output: dtype"},
           .attrs = {binomial_attrs[0], "Tseed: index = int64", binomial_attrs[1], binomial_attrs[2]},
           .shape = stateless_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .host_inputs = {0, 1}});
  ops.add({.name = "StatefulRandomBinomial",
           .doc = "Successes among so many trials, from a generator in a variable; parameters broadcast together.",
           .inputs = {"resource: resource", "algorithm: int64", "shape: S", "counts: T", "probs: T"},
           .outputs = {"output: dtype"},
           .attrs = binomial_attrs,
           .shape = generator_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .cpu_only = true,
           .blocks_gradient = true,
           .host_inputs = {1, 2}});
  ops.add(
      {.name = "RandomIndexShuffle",
       .doc = "Where each index goes in a permutation of 0 … max_index that its seed stands for.",
       .inputs = {"index: dtype", "seed: Tseed", "max_index: dtype"},
       .outputs = {"output: dtype"},
       .attrs = {"rounds: int = 4", "dtype: {int32, uint32, int64, uint64}", "Tseed: {int32, uint32, int64, uint64}"},
       .shape = index_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true,
       .blocks_gradient = true});
  ops.add({.name = "SobolSample",
           .doc = "Points of Sobol's sequence, which fill the unit cube evenly: [num_results, dim].",
           .inputs = {"dim: int32", "num_results: int32", "skip: int32"},
           .outputs = {"samples: dtype"},
           .attrs = {"dtype: {float, double} = float"},
           .shape = sobol_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true});
}

}  // namespace argosy
