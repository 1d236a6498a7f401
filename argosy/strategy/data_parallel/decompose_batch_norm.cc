#include "argosy/strategy/data_parallel/decompose_batch_norm.h"

#include <vector>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/norm/norm_channels.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/sharding/lower/regions.h"

namespace argosy {

namespace {

bool normalises_in_training(const Node& n) { return n.op->batch_statistics && n.attrs.get_bool("is_training"); }
bool is_gradient(const Node& n) { return n.op->input_args[0].name == "y_backprop"; }

Value narrowed(Value x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

class Decomposer {
 public:
  explicit Decomposer(Graph& graph) : graph_(graph) {}

  Status write(NodeId id) {
    const Node node = graph_.node(id);
    const auto root = graph_.name_scope("");
    const auto scope = graph_.name_scope(str_cat(node.name, "/decomposed"));
    const auto on = graph_.device(node.device);
    std::vector<Value> waits;
    for (const NodeId c : node.controls) waits.push_back(Value(&graph_, c, Value::kControl));
    const auto after = graph_.control_dependencies(waits);
    std::vector<Value> inputs;
    for (const Endpoint e : node.inputs) inputs.push_back(graph_.value(e));
    const std::vector<Value> outputs = is_gradient(node) ? gradient(node, inputs) : forward(node, inputs);
    ARGOSY_RETURN_IF_ERROR(Status(graph_.status()));
    put_in_place(id, outputs);
    return ok_status();
  }

  Replaced replaced;

 private:
  std::vector<Value> forward(const Node& node, const std::vector<Value>& in) {
    const Channels channels(graph_, node.attrs.get_string("data_format"));
    const Value x = widened(in[0]), epsilon = constant(graph_, node.attrs.get_float("epsilon"));
    const Value mean = stop_gradient(channels.mean(x)), distance = x - mean;
    const Value variance = stop_gradient(channels.mean(square(distance)));
    const Value y = distance * (rsqrt(variance + epsilon) * channels.spread(in[1])) + channels.spread(in[2]);
    const Value means = channels.together(mean), variances = channels.together(variance);
    // Moving averages follow the variance of the distribution that the batch was drawn from (Bessel's correction).
    const Value one = constant(graph_, 1.0f), n = number(in[0]) / number(in[1]);
    const Value drawn = variances * (n / maximum(n - one, one));
    const float factor = node.attrs.get_float("exponential_avg_factor");
    std::vector<Value> out = {narrowed(y, in[0].dtype()), averaged(in[3], means, factor),
                              averaged(in[4], drawn, factor), means, variances};
    if (node.output_dtypes.size() > out.size()) out.push_back(nothing());
    return out;
  }

  std::vector<Value> gradient(const Node& node, const std::vector<Value>& in) {
    const Channels channels(graph_, node.attrs.get_string("data_format"));
    const Value epsilon = constant(graph_, node.attrs.get_float("epsilon"));
    const Value dy = widened(in[0]), rate = rsqrt(channels.spread(in[4]) + epsilon);
    const Value n = (widened(in[1]) - channels.spread(in[3])) * rate, dn = dy * n;
    const Value dx = channels.spread(in[2]) * rate * (dy - channels.mean(dy) - n * channels.mean(dn));
    return {narrowed(dx, in[1].dtype()), channels.sum(dn), channels.sum(dy), nothing(), nothing()};
  }

  Value averaged(Value before, Value now, float factor) {
    if (factor == 1) return now;
    return before * constant(graph_, 1 - factor) + now * constant(graph_, factor);
  }

  Value number(Value of) { return cast(graph_.add("Size", {of}), DType::kFloat32); }
  Value nothing() { return constant(graph_, Tensor::zeros(DType::kFloat32, {0})); }

  void put_in_place(NodeId id, const std::vector<Value>& outputs) {
    const Graph::Uses uses = graph_.consumers();
    for (const Graph::Use& use : uses[id.index]) {
      if (use.input < 0) {
        graph_.replace_control_input(use.node, id, outputs[0].node());
        continue;
      }
      const int output = graph_.node(use.node).inputs[static_cast<std::size_t>(use.input)].index;
      graph_.set_input(use.node, use.input, outputs[static_cast<std::size_t>(output)].endpoint());
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      replaced.emplace(Endpoint{id, static_cast<std::int32_t>(k)}, outputs[k].endpoint());
    }
  }

  Graph& graph_;
};

// Returns a copy of `given` that waits for the norm. So the copy is dead in a branch that is not taken, like the norm.
Value copy_after(Graph& graph, Value given, const Node& norm, NodeId id, const char* name) {
  const auto on = graph.device(norm.device);
  const auto after = graph.control_dependencies({Value(&graph, id, Value::kControl)});
  return graph.add("Identity", {given}, {}, str_cat(norm.name, "/", name));
}

}  // namespace

Result<Replaced> pass_on_given_statistics(Graph& graph) {
  Replaced replaced;
  const auto root = graph.name_scope("");
  const Graph::Uses uses = graph.consumers();
  for (std::int32_t i = 0, original = graph.size(); i < original; ++i) {
    const NodeId id{i};
    const Node norm = graph.node(id);
    if (!norm.op->batch_statistics || is_gradient(norm) || norm.attrs.get_bool("is_training")) continue;
    for (const int output : {1, 2}) {
      const int input = output + 2;
      const Endpoint given = norm.inputs[static_cast<std::size_t>(input)];
      Value value = graph.value(given);
      if (graph.node(given.node).output_is_ref(given.index)) {  // it is read once
        const auto on = graph.device(norm.device);
        value = graph.add("Identity", {value}, {}, str_cat(norm.name, "/given_", output));
        graph.set_input(id, input, value.endpoint());
      }
      const Value copy = copy_after(graph, value, norm, id, output == 1 ? "given_mean" : "given_variance");
      ARGOSY_RETURN_IF_ERROR(Status(graph.status()));
      for (const Graph::Use& use : uses[i]) {
        if (use.input < 0) continue;
        const Endpoint read = graph.node(use.node).inputs[static_cast<std::size_t>(use.input)];
        if (read == Endpoint{id, output}) graph.set_input(use.node, use.input, copy.endpoint());
      }
      replaced.emplace(Endpoint{id, output}, copy.endpoint());
    }
  }
  return replaced;
}

Result<Replaced> decompose_batch_norms(Graph& graph) {
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const LoopRegions regions = find_regions(graph, order);
  Decomposer decomposer(graph);
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (!normalises_in_training(n) || regions.frame[id.index] != 0) continue;
    ARGOSY_RETURN_IF_ERROR(decomposer.write(id));
  }
  return std::move(decomposer.replaced);
}

}  // namespace argosy
