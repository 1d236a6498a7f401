#include "argosy/ops/einsum/einsum.h"

#include <algorithm>
#include <map>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/einsum/einsum_sharding.h"
#include "argosy/ops/einsum/equation.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

namespace {

using einsum_parts::kEllipsis;

// Returns the size of each label, as far as the inputs determine it.
Result<std::map<int, std::int64_t>> label_sizes(const ShapeContext& c, const einsum_parts::Labels& labels) {
  std::map<int, std::int64_t> sizes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    for (int axis = 0; axis < c.input(i).rank(); ++axis) {
      const int label = labels.inputs[static_cast<std::size_t>(i)][static_cast<std::size_t>(axis)];
      const std::int64_t size = c.input(i)[axis];
      const auto [at, fresh] = sizes.emplace(label, size);
      if (fresh || at->second == size) continue;
      std::int64_t& known = at->second;
      if (label >= einsum_parts::kFirstBroadcast) {
        ARGOSY_ASSIGN_OR_RETURN(const PartialShape both, broadcast(PartialShape({known}), PartialShape({size})));
        known = both[0];
      } else if (known < 0 || size < 0) {
        known = std::max(known, size);
      } else {
        return invalid_argument("Einsum: one letter names axes of sizes ", known, " and ", size, "; input ", i,
                                " has shape ", c.input(i));
      }
    }
  }
  return sizes;
}

Status einsum_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Equation equation,
                          einsum_parts::parse(c.attrs().get_string("equation"), c.num_inputs()));
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).has_rank()) return ok_status();
    ranks.push_back(c.input(i).rank());
  }
  ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Labels labels, einsum_parts::label_axes(equation, ranks));
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, label_sizes(c, labels));
  std::vector<std::int64_t> output;
  for (const int label : labels.output) output.push_back(sizes.at(label));
  c.set_output(0, PartialShape(std::move(output)));
  return ok_status();
}

// Two operations for each combination of values of all letters.
Cost einsum_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const auto equation = einsum_parts::parse(c.attrs().get_string("equation"), c.num_inputs());
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) ranks.push_back(c.input(i).rank());
  if (!equation.ok()) return cost;
  const auto labels = einsum_parts::label_axes(*equation, ranks);
  if (!labels.ok()) return cost;
  const auto sizes = label_sizes(c, *labels);
  if (!sizes.ok()) return cost;
  cost.flops = c.num_inputs() == 2 ? 2 : 1;
  for (const auto& [label, size] : *sizes) cost.flops *= static_cast<double>(std::max<std::int64_t>(size, 1));
  return cost;
}

std::string written(const std::string& subscripts) {
  std::string text;
  for (const char letter : subscripts) text += letter == kEllipsis ? std::string("...") : std::string(1, letter);
  return text;
}

bool contains(const std::string& s, char letter) { return s.find(letter) != std::string::npos; }

// Returns the gradient of x, whose subscripts are `mine`: the product of dy and the other operand, over the letters
// that they have. Letters of x that neither has are axes that x was summed over; the gradient is constant along them.
Value flow(GradContext& g, Value x, std::string mine, const std::string& output, const Value* other,
           const std::string& others) {
  Graph& graph = g.graph();
  if (!contains(output, kEllipsis)) std::erase(mine, kEllipsis);  // it stands for no axis
  std::string reachable, missing;
  for (const char letter : mine) {
    const bool there = contains(output, letter) || (other != nullptr && contains(others, letter));
    (there ? reachable : missing).push_back(letter);
  }
  const bool drops_ellipsis = contains(output, kEllipsis) && !contains(reachable, kEllipsis);
  // An ellipsis that x does not have is summed over once it has a place in front.
  const std::string target = drops_ellipsis ? std::string(1, kEllipsis) + reachable : reachable;
  std::vector<Value> inputs = {g.dy()};
  std::string equation = written(output);
  if (other != nullptr) {
    inputs.push_back(is_complex(other->dtype()) ? conj(*other) : *other);
    equation += "," + written(others);
  }
  Value dx = einsum(equation + "->" + written(target), inputs);
  const auto without_ellipsis = static_cast<std::int32_t>(reachable.size());
  if (drops_ellipsis) {
    const Value rank = graph.add("Rank", {dx});
    const Value axes = graph.add("Range", {constant(graph, 0), rank - without_ellipsis, constant(graph, 1)});
    dx = graph.add("Sum", {dx, axes});
  }
  if (!missing.empty()) {
    // Axes of size 1 in front, then to their places; repeated to x's shape below.
    const Value ones = constant(graph, Tensor::vector(std::vector<std::int32_t>(missing.size(), 1)));
    dx = graph.add("Reshape", {dx, graph.add("ConcatV2", {ones, graph.add("Shape", {dx}), constant(graph, 0)})});
    dx = einsum(written(missing + reachable) + "->" + written(mine), {dx});
  }
  dx = sum_to_shape_of(x, dx);
  return missing.empty() ? dx : graph.add("BroadcastTo", {dx, graph.add("Shape", {x})});
}

std::vector<Value> einsum_gradient(GradContext& g) {
  const auto equation = einsum_parts::parse(g.attrs().get_string("equation"), g.num_inputs());
  std::vector<Value> dxs(static_cast<std::size_t>(g.num_inputs()));
  for (std::size_t i = 0; i < dxs.size(); ++i) {
    const std::string& mine = equation->inputs[i];
    for (const char letter : mine) {
      // A diagonal that is summed has no gradient beside it; TensorFlow refuses this case as well.
      if (std::count(mine.begin(), mine.end(), letter) > 1 && !contains(equation->output, letter) &&
          (dxs.size() == 1 || !contains(equation->inputs[1 - i], letter))) {
        g.graph().fail(unimplemented("Einsum: no gradient of '", g.attrs().get_string("equation"),
                                     "', which sums over a diagonal"));
        return dxs;
      }
    }
    const bool two = dxs.size() == 2;
    const Value other = two ? g.x(static_cast<int>(1 - i)) : Value();
    dxs[i] = flow(g, g.x(static_cast<int>(i)), mine, equation->output, two ? &other : nullptr,
                  two ? equation->inputs[1 - i] : std::string());
  }
  return dxs;
}

}  // namespace

void define_einsum(OpRegistry& ops) {
  ops.add({.name = "Einsum",
           .doc = "Sums of products over named axes.",
           .inputs = {"inputs: N * T"},
           .outputs = {"output: T"},
           .attrs = {"equation: string", "N: int >= 1", "T: type"},
           .shape = einsum_shape,
           .gradient = einsum_gradient,
           .cost = einsum_cost,
           .sharding_rule = einsum_sharding});
}

Value einsum(std::string_view equation, const std::vector<Value>& inputs) {
  for (const Value& x : inputs) {
    if (!x.valid()) return x;
  }
  if (inputs.empty()) return {};
  return inputs[0].graph().add("Einsum", inputs, {{"equation", std::string(equation)}});
}

}  // namespace argosy
