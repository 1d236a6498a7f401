#include "argosy/tf/server/replication/step_rewrite.h"

#include <algorithm>
#include <numeric>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/passes/functions/lower_functions.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/tf/server/replication/batch_size_feeds.h"

namespace argosy::tf {

namespace {

// Permutations that bring this axis to the front, and back.
std::vector<int> to_front(int axis, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}
std::vector<int> from_front(int axis, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i == axis ? 0 : i < axis ? i + 1 : i;
  return order;
}

// A feed whose examples do not lie along the first axis. It is transposed before the step, and transposed back in every
// shard. The client's feed and its transposed value.
struct Transposed {
  Value given, transposed;
};

Result<Transposed> transpose_feed(StepGraph& step, std::size_t feed, int axis) {
  Graph& g = step.graph;
  const auto uses = g.consumers();
  const Value given(&g, step.feeds[feed], 0);
  const int rank = g.shape(given.endpoint()).rank();
  const auto root = g.name_scope("");
  const auto on = g.device("");
  const Transposed made{given, transpose(given, to_front(axis, rank))};
  const Value fed = placeholder(g, given.dtype(), PartialShape::unknown_of_rank(rank),
                                str_cat(g.node(given.node()).name, "/transposed"));
  const Value back = transpose(fed, from_front(axis, rank));
  if (!back.valid() || !made.transposed.valid()) return g.status();
  for (const Graph::Use& use : uses[given.node().index]) {
    if (use.input >= 0) g.set_input(use.node, use.input, back.endpoint());
  }
  step.feeds[feed] = fed.node();
  return made;
}

// The step on many devices, and the global values of its fetches.
Result<DataParallel> replicate(StepGraph& step, const DataParallelOptions& options, std::vector<Value>& fetched) {
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, DataParallel::make(step.graph, options));
  for (const Endpoint e : step.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(fetched.emplace_back(), parallel.fetch(step.graph.value(e)));
  }
  return parallel;
}

// What writes and reads a variable of the step as a whole: its shards, where ZeRO-1 has sharded it.
struct WholeVariable {
  NodeId variable;
  Value value, write, read;
};

Result<std::vector<WholeVariable>> add_whole_variables(Graph& g) {
  std::vector<WholeVariable> all;
  const auto root = g.name_scope("");
  for (std::int32_t i = 0, size = g.size(); i < size; ++i) {
    const Node& n = g.node(NodeId{i});
    const auto* const shape = is_variable(n) ? n.attrs.find_as<PartialShape>("shape") : nullptr;
    if (shape == nullptr || !shape->is_full()) continue;
    const bool is_ref = n.output_is_ref(0);
    const DType dtype = n.attrs.get<DType>("dtype");
    const std::string name(n.name);
    const Value variable(&g, NodeId{i}, 0), value = placeholder(g, dtype, *shape, name + "/given_whole");
    all.push_back({.variable = NodeId{i},
                   .value = value,
                   .write = g.add(is_ref ? "Assign" : "AssignVariableOp", {variable, value}, {}, name + "/write_whole"),
                   .read = is_ref ? g.add("Identity", {variable}, {}, name + "/read_whole")
                                  : g.add("ReadVariableOp", {variable}, {{"dtype", dtype}}, name + "/read_whole")});
  }
  ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  return all;
}

}  // namespace

Shape transposed_shape(const Shape& shape, int axis) {
  std::vector<std::int64_t> sizes;
  for (const int i : to_front(axis, shape.rank())) sizes.push_back(shape[i]);
  return Shape(sizes);
}

StepSignature signature_of(const StepValues& values) {
  StepSignature signature;
  for (const Value& v : values.feeds) signature.feeds.push_back(v.endpoint());
  signature.feed_shapes.assign(signature.feeds.size(), PartialShape::unknown());
  for (const Value& v : values.fetches) signature.fetches.push_back(v.endpoint());
  for (const Value& v : values.targets) signature.targets.push_back(v.node());
  for (const auto& [to, from] : values.connections) signature.connections.push_back({to.endpoint(), from.endpoint()});
  for (const Value& v : values.ran) signature.ran.push_back(v.node());
  return signature;
}

std::int64_t StepRewrite::examples() const {
  const auto first = std::find_if(axes.begin(), axes.end(), [](int axis) { return axis >= 0; });
  return first == axes.end() ? 0 : fed_shapes[static_cast<std::size_t>(first - axes.begin())][0];
}

StepSignature StepRewrite::signature(std::int64_t batch) const {
  StepSignature signature;
  for (std::size_t i = 0; i < fed.size(); ++i) {
    std::vector<std::int64_t> sizes(fed_shapes[i].sizes().begin(), fed_shapes[i].sizes().end());
    if (axes[i] >= 0) sizes[0] = batch;
    signature.feeds.push_back(fed[i].endpoint());
    signature.feed_shapes.emplace_back(Shape(std::span<const std::int64_t>(sizes)));
  }
  for (const Value& v : fetched) signature.fetches.push_back(v.endpoint());
  for (const Value& v : targets) signature.targets.push_back(v.node());
  return signature;
}

Result<StepRewrite> rewrite_step(const Graph& graph, const StepValues& values, const std::vector<Endpoint>& losses,
                                 std::span<const Tensor> feeds, const std::vector<int>& batch,
                                 const ReplicaDevices& devices, const ReplicationOptions& how) {
  StepSignature signature = signature_of(values);
  // Any sizes: a step is compiled for those of the feeds when they come.
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    signature.feed_shapes[i] = PartialShape::unknown_of_rank(feeds[i].shape().rank());
  }
  signature.fetches.insert(signature.fetches.end(), losses.begin(), losses.end());
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, prune_step(graph, signature));
  // Rules speak of what functions compute, not of calls.
  ARGOSY_ASSIGN_OR_RETURN(const int lowered, lower_functions(step));
  if (lowered > 0) ARGOSY_RETURN_IF_ERROR(remove_unused_nodes(step));

  DataParallelOptions options{
      .sync_batch_norm = how.sync_batch_norm, .accumulate = how.strategy.accumulate, .zero = how.strategy.zero};
  for (std::size_t i = values.fetches.size(); i < step.fetches.size(); ++i) {
    options.losses.push_back(step.graph.value(step.fetches[i]));
  }
  step.fetches.resize(values.fetches.size());
  options.devices = devices.names;
  options.weights = devices.speeds;
  std::vector<Transposed> columns;
  std::vector<Shape> fed_shapes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] > 0) {
      ARGOSY_ASSIGN_OR_RETURN(columns.emplace_back(), transpose_feed(step, i, batch[i]));
    }
    fed_shapes.push_back(batch[i] > 0 ? transposed_shape(feeds[i].shape(), batch[i]) : feeds[i].shape());
    const Value feed(&step.graph, step.feeds[i], 0);
    options.examples.emplace_back(feed, fed_shapes[i]);
    if (batch[i] >= 0) options.batch_inputs.push_back(feed);
  }
  const auto first = std::find_if(batch.begin(), batch.end(), [](int axis) { return axis >= 0; }) - batch.begin();
  const std::int64_t examples = fed_shapes[static_cast<std::size_t>(first)][0];
  const std::vector<std::size_t> sizes = scalars_equal_to(feeds, examples);
  for (const std::size_t i : sizes) {
    if (examples < 2) {  // 0 and 1 are as likely a switch
      return invalid_argument("'", values.feeds[i].name(), "' is fed ", examples,
                              ", which may be the batch's size: a batch of ", examples, " is not sharded then");
    }
    ARGOSY_RETURN_IF_ERROR(take_size_from_batch(step, i, static_cast<std::size_t>(first)));
  }
  for (const NodeId id : step.targets) options.train.push_back(Value(&step.graph, id, Value::kControl));
  for (const Endpoint e : step.fetches) options.train.push_back(Value(&step.graph, e.node, Value::kControl));
  std::vector<WholeVariable> variables;
  if (how.strategy.zero > 0) {
    ARGOSY_ASSIGN_OR_RETURN(variables, add_whole_variables(step.graph));
  }
  std::vector<Value> fetched;
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, replicate(step, options, fetched));

  StepRewrite made{.parallel = std::move(parallel),
                   .fed = {},
                   .fed_shapes = std::move(fed_shapes),
                   .fetched = std::move(fetched),
                   .targets = {},
                   .losses = {},
                   .axes = batch,
                   .sizes = sizes,
                   .columns = {},
                   .transposed = {}};
  DataParallel& p = made.parallel;
  for (const NodeId id : step.feeds) made.fed.push_back(p.input(Value(&step.graph, id, 0)));
  for (const NodeId id : step.targets) {
    made.targets.push_back(p.target(Value(&step.graph, id, Value::kControl)));
  }
  for (const Endpoint e : step.fetches) {
    const Value run = p.target(Value(&step.graph, e.node, Value::kControl));
    if (run.node() != e.node) made.targets.push_back(run);
  }
  for (const Value& loss : how.check > 0 ? options.losses : std::vector<Value>()) {
    const Result<Value> global = p.fetch(loss);
    made.losses.push_back(global.ok() ? *global : Value());
  }
  for (const Transposed& t : columns) {
    made.columns.push_back(p.input(t.given));
    made.transposed.push_back(p.input(t.transposed));
  }
  for (const WholeVariable& v : variables) {
    if (!p.is_sharded(Value(&step.graph, v.variable, 0))) continue;
    made.slots.push_back({.variable = resource_name(step.graph.node(v.variable)),
                          .value = p.input(v.value),
                          .write = p.target(Value(&step.graph, v.write.node(), Value::kControl)),
                          .read = p.input(v.read)});
  }
  return made;
}

}  // namespace argosy::tf
