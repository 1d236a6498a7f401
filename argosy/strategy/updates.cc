#include "argosy/strategy/updates.h"

#include <algorithm>

#include "argosy/ops/collective/collective.h"

namespace argosy {

namespace {

bool is_handle(const Graph& graph, Endpoint e) {
  return e.index >= 0 && (graph.node(e.node).output_is_ref(e.index) || graph.dtype(e) == DType::kResource);
}

// Nodes from which `roots` are computed, themselves included.
std::vector<char> ancestors(const Graph& graph, const std::vector<NodeId>& roots, bool controls) {
  std::vector<char> seen(graph.size(), 0);
  std::vector<NodeId> stack;
  const auto visit = [&](NodeId id) {
    if (!seen[id.index]) stack.push_back(id);
    seen[id.index] = 1;
  };
  for (const NodeId id : roots) visit(id);
  while (!stack.empty()) {
    const Node& n = graph.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) visit(e.node);
    if (controls) {
      for (const NodeId c : n.controls) visit(c);
    }
  }
  return seen;
}

// What flows into the loss when gradients start: ones, made by gradients() here and by tf.gradients there under this
// name.
std::vector<NodeId> gradient_seeds(const Graph& graph, Endpoint loss) {
  std::vector<NodeId> ours, theirs;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const std::size_t slash = n.name.rfind('/');
    if (!std::string_view(n.name).substr(slash == std::string::npos ? 0 : slash + 1).starts_with("grad_ys")) continue;
    if (n.output_dtypes.size() != 1 || !is_floating(n.output_dtypes[0])) continue;
    if (n.op->name == "OnesLike" && n.inputs[0] == loss) ours.push_back(NodeId{i});
    if (n.op->name == "Fill" || n.op->name == "Const") theirs.push_back(NodeId{i});
  }
  if (ours.empty() && theirs.size() == 1) return theirs;
  return ours;
}

// seed ──► users    ⇒    seed ──► _ScaleOrZero(_BatchFactor(x)) ──► users.    One shard of one: the factor is 1.
Status scale_seed(Graph& graph, NodeId seed, NodeId batch_input) {
  const auto uses = graph.consumers();
  const Value value(&graph, seed, 0);
  const Value factor =
      batch_factor(Value(&graph, batch_input, 0), {1}, 0, value.dtype(), str_cat(graph.node(seed).name, "/part"));
  const Value scaled = scale_or_zero(value, factor, str_cat(graph.node(seed).name, "/scaled"));
  if (!scaled.valid()) return graph.status();
  graph.set_device(scaled.node(), graph.node(seed).device);
  for (const Graph::Use& use : uses[seed.index]) {
    if (use.input >= 0) graph.set_input(use.node, use.input, scaled.endpoint());
  }
  return ok_status();
}

class Planner {
 public:
  Planner(Graph& graph, const UpdateRequest& request) : graph_(graph), request_(request) {}

  Result<UpdatePlan> run() {
    ARGOSY_RETURN_IF_ERROR(find_inputs());
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs));
    if (request_.loss) ARGOSY_RETURN_IF_ERROR(classify_loss());
    ARGOSY_RETURN_IF_ERROR(find_cuts());
    ARGOSY_ASSIGN_OR_RETURN(order_, graph_.topological_order());
    find_levels();
    ARGOSY_RETURN_IF_ERROR(check_writes());
    sort_cuts();
    return std::move(plan_);
  }

 private:
  std::vector<NodeId> roots() const {
    std::vector<NodeId> roots = request_.train;
    if (request_.loss) roots.push_back(request_.loss->node);
    if (roots.empty()) {
      for (std::int32_t i = 0; i < graph_.size(); ++i) roots.push_back(NodeId{i});
    }
    return roots;
  }

  Status find_inputs() {
    plan_.loss.how = Combine::kSame;
    plan_.inputs = request_.inputs.empty() ? batch_placeholders(graph_, roots()) : request_.inputs;
    if (!plan_.inputs.empty()) return ok_status();
    return invalid_argument("no placeholder brings a batch: none that is used has an unknown first size")
        .with_id("ARG-DP-001")
        .with_next("make the first size of the batch's placeholders -1, or name them in batch_inputs");
  }

  Status classify_loss() {
    const std::string& name = graph_.node(request_.loss->node).name;
    plan_.loss = combination_of(graph_, plan_.axes, *request_.loss);
    if (request_.combine) {
      plan_.loss = {.how = *request_.combine};
    } else if (plan_.loss.how == Combine::kSame) {
      return invalid_argument("the loss '", name, "' does not depend on the batch").with_id("ARG-DP-004");
    } else if (plan_.loss.how == Combine::kUnknown) {
      return invalid_argument("cannot tell how the loss '", name, "' combines over the batch: ", plan_.loss.why)
          .with_id("ARG-DP-002")
          .with_next("--combine=sum if it adds up over samples, --combine=mean if it is an average of them");
    }
    gradients_ = plan_.loss.how == Combine::kMean ? Combine::kMean : Combine::kSum;
    if (plan_.loss.how == Combine::kWeighted) cut(plan_.loss.weight, Combine::kSum);
    if (plan_.loss.how != Combine::kMean) return ok_status();
    const std::vector<NodeId> seeds = gradient_seeds(graph_, *request_.loss);
    if (seeds.empty()) return ok_status();
    for (const NodeId seed : seeds) ARGOSY_RETURN_IF_ERROR(scale_seed(graph_, seed, plan_.inputs[0]));
    gradients_ = Combine::kSum;
    seed_scaled_ = true;
    ARGOSY_ASSIGN_OR_RETURN(plan_.axes, BatchAxes::find(graph_, plan_.inputs));
    return ok_status();
  }

  void cut(Endpoint e, Combine how) {
    const bool known = std::any_of(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& c) { return c.value == e; });
    if (!known) plan_.cuts.push_back({.value = e, .how = how});
  }

  Status find_cuts() {
    std::vector<char> behind_loss(graph_.size(), 0);
    if (request_.loss) behind_loss = ancestors(graph_, {request_.loss->node}, false);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!writes_variable(graph_, n)) continue;
      const auto variable = variable_behind(graph_, n.inputs[0]);
      const bool trains = variable && behind_loss[variable->index];
      for (const Endpoint e : n.inputs) {
        if (is_handle(graph_, e) || !plan_.axes.depends(e.node)) continue;
        if (plan_.axes.axis(e) >= 0) return per_sample(n);
        trains ? cut_gradient(e) : cut_statistic(e);
      }
    }
    return ok_status();
  }

  void cut_gradient(Endpoint e) {
    const bool sums_only = gradients_ == Combine::kSum && !seed_scaled_;
    for (const Endpoint sum : shard_sums(graph_, plan_.axes, e, sums_only)) {
      cut(sum, plan_.axes.counts_samples(sum) ? Combine::kSum : gradients_);
    }
  }

  // Moving averages and counters. What is neither a sum nor a mean is averaged.
  void cut_statistic(Endpoint e) {
    const bool sums_only = combination_of(graph_, plan_.axes, e).how == Combine::kSum;
    for (const Endpoint sum : shard_sums(graph_, plan_.axes, e, sums_only)) {
      cut(sum, combination_of(graph_, plan_.axes, sum).how == Combine::kSum ? Combine::kSum : Combine::kMean);
    }
  }

  Status per_sample(const Node& n) const {
    return unimplemented("'", n.name, "' (", n.op->name, ") updates a variable sample by sample")
        .with_id("ARG-DP-003")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_next("update it with a dense gradient, or train on one device");
  }

  bool is_cut(Endpoint e) const {
    return std::any_of(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& c) { return c.value == e; });
  }

  void find_levels() {
    const auto n = static_cast<std::size_t>(graph_.size());
    plan_.levels.assign(n, Level::kOnce);
    std::vector<char> is_input(n, 0), has_cut(n, 0);
    for (const NodeId id : plan_.inputs) is_input[id.index] = 1;
    for (const Cut& c : plan_.cuts) has_cut[c.value.node.index] = 1;
    const auto sees_batch = [&](Endpoint e) {
      if (has_cut[e.node.index] && is_cut(e)) return false;
      return is_input[e.node.index] != 0 || plan_.levels[e.node.index] == Level::kShard;
    };
    for (bool again = true; again;) {
      again = false;
      for (const NodeId id : order_) {
        const Node& node = graph_.node(id);
        if (is_input[id.index] || plan_.levels[id.index] == Level::kShard || !plan_.axes.depends(id)) continue;
        if (std::none_of(node.inputs.begin(), node.inputs.end(), sees_batch)) continue;
        plan_.levels[id.index] = Level::kShard;
        again = again || node.op->closes_loop;
      }
    }
    std::vector<NodeId> roots = request_.train;
    for (std::size_t i = 0; i < n; ++i) {
      if (plan_.levels[i] == Level::kShard) roots.push_back(NodeId{static_cast<std::int32_t>(i)});
    }
    const std::vector<char> needed = ancestors(graph_, roots, true);
    for (std::size_t i = 0; i < n; ++i) {
      // Whatever may be fed stays one node, so that a feed reaches every device.
      const bool fed = graph_.nodes()[i].op->name.starts_with("Placeholder");
      if (needed[i] && !fed && plan_.levels[i] == Level::kOnce) plan_.levels[i] = Level::kDevice;
    }
  }

  Status check_writes() const {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (plan_.levels[i] == Level::kShard && writes_variable(graph_, n)) return per_sample(n);
    }
    return ok_status();
  }

  void sort_cuts() {
    std::vector<int> depth(graph_.size(), 0), position(graph_.size(), 0);
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const NodeId id = order_[at];
      position[id.index] = static_cast<int>(at);
      for (const Endpoint e : graph_.node(id).inputs) {
        depth[id.index] = std::max(depth[id.index], depth[e.node.index] + (is_cut(e) ? 1 : 0));
      }
    }
    for (Cut& c : plan_.cuts) c.depth = depth[c.value.node.index];
    std::stable_sort(plan_.cuts.begin(), plan_.cuts.end(), [&](const Cut& a, const Cut& b) {
      return position[a.value.node.index] < position[b.value.node.index];
    });
  }

  Graph& graph_;
  const UpdateRequest& request_;
  UpdatePlan plan_;
  Combine gradients_ = Combine::kMean;  // how the gradients of the loss combine
  bool seed_scaled_ = false;
  std::vector<NodeId> order_;
};

}  // namespace

bool is_variable(const Node& n) {
  return n.op->stateful && n.inputs.empty() && n.output_dtypes.size() == 1 &&
         (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
}

bool writes_variable(const Graph& graph, const Node& n) {
  if (n.inputs.empty() || !is_handle(graph, n.inputs[0])) return false;
  if (n.op->flow != Flow::kNone) return false;
  const bool takes_ref = !n.op->input_args.empty() && n.op->input_args[0].is_ref;
  if (graph.dtype(n.inputs[0]) == DType::kResource && !takes_ref) return n.op->stateful && n.output_dtypes.empty();
  return takes_ref && n.output_is_ref(0);
}

std::optional<NodeId> variable_behind(const Graph& graph, Endpoint e) {
  for (int steps = 0; steps < 64; ++steps) {
    const Node& n = graph.node(e.node);
    if (is_variable(n)) return e.node;
    if (n.inputs.empty() || !is_handle(graph, n.inputs[0])) return std::nullopt;
    e = n.inputs[0];
  }
  return std::nullopt;
}

Result<UpdatePlan> plan_updates(Graph& graph, const UpdateRequest& request) { return Planner(graph, request).run(); }

}  // namespace argosy
