#include "argosy/ops/kmeans/kmeans.h"

#include <algorithm>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status scalars(const ShapeContext& c, int from) {
  for (int i = from; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return ok_status();
}

Status nearest_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape points, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape centers, c.with_rank(1, 2));
  ARGOSY_RETURN_IF_ERROR(scalars(c, 2));
  const auto k = c.input_as_int(2);
  const bool known = k && centers[0] >= 0;
  c.set_all_outputs({points[0], known ? std::clamp<std::int64_t>(*k, 0, centers[0]) : kUnknownSize});
  return ok_status();
}

Status seeding_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape points, c.with_rank(0, 2));
  ARGOSY_RETURN_IF_ERROR(scalars(c, 1));
  const auto count = c.input_as_int(1);
  c.set_output(0, {count && *count > 0 ? *count : kUnknownSize, points[1]});
  return ok_status();
}

Status chain_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 1).status());
  ARGOSY_RETURN_IF_ERROR(scalars(c, 1));
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

}  // namespace

static void add_kmeans_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> inputs,
                       std::vector<std::string> outputs, ShapeFn shape) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = std::move(outputs),
             .shape = shape,
             .gradient = kNotDifferentiable,
             .cpu_only = true,
             .blocks_gradient = true});
  };
  add("NearestNeighbors", "The nearest centers of points, and how far they are.",
      {"points: float", "centers: float", "k: int64"},
      {"nearest_center_indices: int64", "nearest_center_distances: float"}, nearest_shape);
  add("KmeansPlusPlusInitialization", "Points drawn to begin k-means with.",
      {"points: float", "num_to_sample: int64", "seed: int64", "num_retries_per_sample: int64"}, {"samples: float"},
      seeding_shape);
  add("KMC2ChainInitialization", "The end of a Markov chain through candidates for a center.",
      {"distances: float", "seed: int64"}, {"index: int64"}, chain_shape);
}

void define_kmeans(OpRegistry& ops) {
  with_sharding(ops, add_kmeans_ops, {{"NearestNeighbors", "n d, m d, . -> n 1, n 1; whole n d m"}},
                "whole: it draws points from all of them");
}

Nearest nearest_neighbors(Value points, Value centers, Value k) {
  if (!points.valid()) return {};
  const Value indices = points.graph().add("NearestNeighbors", {points, centers, k});
  return {indices, indices.output(1)};
}

Value kmeans_plus_plus(Value points, std::int64_t count, std::int64_t seed, std::int64_t retries) {
  if (!points.valid()) return {};
  Graph& g = points.graph();
  return g.add("KmeansPlusPlusInitialization", {points, constant(g, count), constant(g, seed), constant(g, retries)});
}

Value kmc2_chain(Value distances, std::int64_t seed) {
  if (!distances.valid()) return {};
  Graph& g = distances.graph();
  return g.add("KMC2ChainInitialization", {distances, constant(g, seed)});
}

}  // namespace argosy
