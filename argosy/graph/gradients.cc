#include "argosy/graph/gradients.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace argosy {

Value GradContext::dy(int i) {
  if (!dys_[i].valid()) dys_[i] = graph_.add("ZerosLike", {y(i)});
  return dys_[i];
}

namespace {

// Handles carry what flows into the variable or the list they refer to.
bool carries_gradient(DType d) {
  return is_floating(d) || is_complex(d) || d == DType::kResource || d == DType::kVariant;
}

// Words: a node is *between* when some x reaches it and it reaches some y. Contributions are collected per endpoint
// until every between-consumer of the node has been differentiated; then they are summed once.
class Differentiator {
 public:
  Differentiator(Graph& graph, const GradOptions& options) : graph_(graph), options_(options) {}

  std::vector<Value> run(const std::vector<Value>& ys, const std::vector<Value>& xs) {
    for (const Value& v : ys) targets_.insert(v.node().index);
    for (const Value& v : xs) sources_.insert(v.endpoint());
    for (const Value& v : options_.stop) stops_.insert(v.endpoint());
    const int forward_size = graph_.size();
    source_ = options_.source.empty() ? str_cat("gradients:", forward_size) : options_.source;
    auto order = graph_.topological_order();
    if (!order.ok()) return fail(order.status(), xs.size());
    mark_between(*order, xs, ys);

    const auto scope = graph_.name_scope("gradients");
    for (std::size_t i = 0; i < ys.size(); ++i) {
      const auto where = colocated(ys[i].node());
      const Value seed = i < options_.grad_ys.size() && options_.grad_ys[i].valid()
                             ? options_.grad_ys[i]
                             : graph_.add("OnesLike", {ys[i]}, {}, "grad_ys");
      flowing_[ys[i].endpoint()].push_back(seed);
    }
    for (auto it = order->rbegin(); it != order->rend(); ++it) {
      if (it->index < forward_size && between_[it->index]) differentiate(*it);
      if (!graph_.status().ok()) return std::vector<Value>(xs.size());
    }
    std::vector<Value> dxs;
    for (const Value& x : xs) {
      dxs.push_back(sum_of(x.endpoint()));
      if (!dxs.back().valid() && !options_.allow_unconnected && graph_.status().ok()) {
        graph_.fail(invalid_argument("no gradient flows to '", x.name(), "': nothing differentiable depends on it")
                        .with_id("ARG-GRAD-001")
                        .with_hint("leave it out of the list, or pass allow_unconnected"));
      }
    }
    return graph_.status().ok() ? dxs : std::vector<Value>(xs.size());
  }

 private:
  std::vector<Value> fail(Status status, std::size_t n) {
    graph_.fail(std::move(status));
    return std::vector<Value>(n);
  }

  std::vector<Graph::Scope> colocated(NodeId node) {
    std::vector<Graph::Scope> scopes;
    if (!options_.colocate_with_forward) return scopes;
    scopes.push_back(graph_.device(""));
    const std::string& device = graph_.node(node).device;
    if (!device.empty()) scopes.push_back(graph_.device(device));
    scopes.push_back(graph_.colocate_with(Value(&graph_, node, 0)));
    return scopes;
  }

  void mark_between(const std::vector<NodeId>& order, const std::vector<Value>& xs, const std::vector<Value>& ys) {
    std::vector<char> from_x(graph_.size(), 0);
    for (const Value& x : xs) from_x[x.node().index] = 1;
    for (const NodeId id : order) {
      for (const Endpoint e : graph_.node(id).inputs) {
        if (from_x[e.node.index] && carries_gradient(graph_.dtype(e)) && !stops_.contains(e)) from_x[id.index] = 1;
      }
    }
    std::vector<char> to_y(graph_.size(), 0);
    for (const Value& y : ys) to_y[y.node().index] = 1;
    between_.assign(graph_.size(), 0);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!to_y[it->index]) continue;
      between_[it->index] = from_x[it->index];
      for (const Endpoint e : graph_.node(*it).inputs) {
        if (carries_gradient(graph_.dtype(e))) to_y[e.node.index] = 1;
      }
    }
  }

  Value sum_of(Endpoint e) {
    const auto found = flowing_.find(e);
    if (found == flowing_.end() || found->second.empty()) return {};
    if (found->second.size() > 1) {
      const auto where = colocated(e.node);
      found->second = {graph_.add("AddN", found->second)};
    }
    return found->second[0];
  }

  void differentiate(NodeId id) {
    const int outputs = static_cast<int>(graph_.node(id).output_dtypes.size());
    std::vector<Value> dys;
    bool any = false;
    for (int i = 0; i < outputs; ++i) {
      dys.push_back(sum_of({id, i}));
      any = any || dys.back().valid();
    }
    const std::vector<Endpoint> inputs = graph_.node(id).inputs;
    const bool needed = std::any_of(inputs.begin(), inputs.end(), [&](Endpoint e) { return wants(e); });
    if (!any || !needed) return;
    if (graph_.node(id).op->gradient == kNotDifferentiable) {
      if (!graph_.node(id).op->blocks_gradient) graph_.fail(no_gradient(id));
      return;
    }
    const auto where = colocated(id);
    const auto name = graph_.name_scope(str_cat(graph_.node(id).name, "_grad"));
    std::vector<bool> wanted;
    for (const Endpoint e : inputs) wanted.push_back(wants(e));
    GradContext context(graph_, id, std::move(dys), {source_, std::move(wanted), [&] { return path_through(id); }});
    const std::vector<Value> dxs = graph_.node(id).op->gradient(context);
    if (!graph_.status().ok()) return;
    ARGOSY_CHECK(dxs.size() == inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (dxs[i].valid() && wants(inputs[i])) flowing_[inputs[i]].push_back(dxs[i]);
    }
  }

  bool wants(Endpoint e) const {
    return !stops_.contains(e) && (between_[e.node.index] || sources_.contains(e)) && carries_gradient(graph_.dtype(e));
  }

  // "loss <- head/foo <- dense/kernel": down from a y to the node, then on to an x.
  Status no_gradient(NodeId id) const {
    const Node& n = graph_.node(id);
    return invalid_argument("op ", n.op->name, " has no gradient, and node '", n.name, "' lies on the path  ",
                            path_through(id))
        .with_id("ARG-GRAD-002")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_hint("stop_gradient() its input, or register a gradient (CONTRIBUTING.md, \"Adding an op\")");
  }
  std::string path_through(NodeId id) const { return path_from_target(id) + " <- " + path_to_source(id); }
  std::string path_to_source(NodeId id) const {
    std::string path = graph_.node(id).name;
    for (int steps = 0; steps < 64; ++steps) {
      const auto& inputs = graph_.node(id).inputs;
      const auto next = std::find_if(inputs.begin(), inputs.end(), [&](Endpoint e) { return wants(e); });
      if (next == inputs.end()) break;
      id = next->node;
      path += str_cat(" <- ", graph_.node(id).name);
      if (sources_.contains(*next)) break;
    }
    return path;
  }
  std::string path_from_target(NodeId id) const {
    const auto uses = graph_.consumers();
    std::string path;
    for (int steps = 0; steps < 64 && !targets_.contains(id.index); ++steps) {
      const auto& next = uses[id.index];
      const auto up = std::find_if(next.begin(), next.end(), [&](const Graph::Use& u) {
        return u.node.index < static_cast<int>(between_.size()) && between_[u.node.index];
      });
      if (up == next.end()) break;
      id = up->node;
      path = path.empty() ? std::string(graph_.node(id).name) : str_cat(graph_.node(id).name, " <- ", path);
    }
    return path.empty() ? "y" : path;
  }

  Graph& graph_;
  const GradOptions& options_;
  std::unordered_set<std::int32_t> targets_;
  std::unordered_set<Endpoint> sources_, stops_;
  std::vector<char> between_;
  std::string source_;
  std::unordered_map<Endpoint, std::vector<Value>> flowing_;
};

}  // namespace

std::vector<Value> gradients(Graph& graph, const std::vector<Value>& ys, const std::vector<Value>& xs,
                             const GradOptions& options) {
  if (!graph.status().ok()) return std::vector<Value>(xs.size());
  for (const Value& v : ys) {
    if (!v.valid()) return graph.fail(invalid_argument("gradients: a y is no value")), std::vector<Value>(xs.size());
  }
  for (const Value& v : xs) {
    if (!v.valid()) return graph.fail(invalid_argument("gradients: an x is no value")), std::vector<Value>(xs.size());
  }
  // In an open body, differentiation is part of the body, by what it has of the values.
  Graph& here = graph.current();
  const auto local = [&](std::vector<Value> values) {
    for (Value& v : values) v = here.local(v);
    return values;
  };
  GradOptions inside = options;
  inside.grad_ys = local(options.grad_ys);
  inside.stop = local(options.stop);
  return Differentiator(here, inside).run(local(ys), local(xs));
}

}  // namespace argosy
