#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"

namespace argosy {

namespace {

Status transpose_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape perm_shape, c.with_rank(1, 1));
  const PartialShape& x = c.input(0);
  int rank = x.rank();
  if (rank < 0) {
    if (perm_shape[0] < 0 || perm_shape[0] > Shape::kMaxRank) return ok_status();
    rank = static_cast<int>(perm_shape[0]);
  } else if (perm_shape[0] >= 0 && perm_shape[0] != rank) {
    return invalid_argument("transpose expects a vector of size ", x.rank(), ". But input(1) is a vector of size ",
                            perm_shape[0], ": ", c.op().name, ": perm has ", perm_shape[0], " axes, x has shape ", x);
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), PartialShape::kUnknown);
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (int i = 0; i < rank; ++i) {
    const auto given = c.int_at(1, i);
    if (!given) continue;
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(*given, rank, c.op().name));
    if (seen[static_cast<std::size_t>(axis)]) {
      return invalid_argument(c.op().name, ": perm is no permutation: axis ", *given, " at place ", i, " again");
    }
    seen[static_cast<std::size_t>(axis)] = true;
    if (x.has_rank()) sizes[i] = x[axis];
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// y = transpose(x, perm)  =>  dx = transpose(dy, inverse of perm), conjugated where y was
std::vector<Value> transpose_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Value inverse;
  if (const PartialInts* const perm = graph.known_ints(g.x(1).endpoint())) {
    std::vector<std::int32_t> places(perm->size(), 0);
    const auto rank = static_cast<std::int64_t>(perm->size());
    bool known = true;
    for (std::size_t i = 0; i < perm->size(); ++i) {
      const auto axis = (*perm)[i];
      known = known && axis;
      if (known) places[static_cast<std::size_t>((*axis + rank) % rank)] = static_cast<std::int32_t>(i);
    }
    if (known) inverse = constant(graph, Tensor::vector(places), "perm");
  }
  if (!inverse.valid()) inverse = invert_permutation(g.x(1));
  return {graph.add(g.node().op->name, {g.dy(), inverse}), Value()};
}

Status permutation_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 1));
  c.set_output(0, x);
  return ok_status();
}

std::optional<PartialInts> permutation_ints(const ShapeContext& c, int) {
  const PartialInts* const x = c.ints(0);
  if (x == nullptr) return std::nullopt;
  PartialInts y(x->size());
  for (std::size_t i = 0; i < x->size(); ++i) {
    const auto at = (*x)[i];
    if (!at || *at < 0 || *at >= static_cast<std::int64_t>(y.size())) return std::nullopt;
    y[static_cast<std::size_t>(*at)] = static_cast<std::int64_t>(i);
  }
  return y;
}

}  // namespace

void define_transposes(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"x: T", "perm: Tperm"},
             .outputs = {"y: T"},
             .attrs = {"T: type", "Tperm: index = int32"},
             .shape = transpose_shape,
             .gradient = transpose_gradient,
             .linear = Linear::kJointly,
             .host_inputs = {1}});
  };
  add("Transpose", "y's axis i is x's axis perm[i].");
  add("ConjugateTranspose", "The complex conjugate, y's axis i being x's axis perm[i].");
  ops.add({.name = "InvertPermutation",
           .doc = "y[x[i]] = i.",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: index = int32"},
           .shape = permutation_shape,
           .gradient = kNotDifferentiable,
           .known_ints = permutation_ints,
           .blocks_gradient = true,
           .sharding = "whole: it inverts all numbers together",
           .host_inputs = {0},
           .host_outputs = {0}});
}

Value transpose(Value x, Value perm) { return x.valid() ? x.graph().add("Transpose", {x, perm}) : x; }

Value transpose(Value x, const std::vector<int>& perm) {
  return x.valid() ? transpose(x, constant(x.graph(), Tensor::vector(perm))) : x;
}

Value transpose(Value x) {
  if (!x.valid()) return x;
  Graph& graph = x.graph();
  if (!x.shape().has_rank()) {  // rank-1, rank-2, …, 0
    const Value last = graph.add("Sub", {graph.add("Rank", {x}), constant(graph, std::int32_t{1})});
    return transpose(x,
                     graph.add("Range", {last, constant(graph, std::int32_t{-1}), constant(graph, std::int32_t{-1})}));
  }
  std::vector<int> perm(static_cast<std::size_t>(x.shape().rank()));
  for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int>(perm.size() - 1 - i);
  return transpose(x, perm);
}

Value invert_permutation(Value x) { return x.valid() ? x.graph().add("InvertPermutation", {x}) : x; }

}  // namespace argosy
