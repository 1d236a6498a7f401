#include "argosy/tf/server/replication/check/losses_of_every_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "argosy/passes/simplify/prune.h"
#include "argosy/tf/server/replication/step_rewrite.h"

namespace argosy::tf {

namespace {

// "This predicate is false (0), true (1)", or (-1) something that nobody knows before the run.
using Literal = std::pair<Endpoint, int>;
// All of them hold, where a node is live; sorted.
using Condition = std::vector<Literal>;

Condition both(const Condition& a, const Condition& b) {
  Condition all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

// What is left of two conditions that differ in one predicate alone, which is true in one and false in the other.
bool joins(const Condition& a, const Condition& b, Condition& joined) {
  Condition of_a, of_b;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(of_a));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(of_b));
  if (of_a.empty() || of_b.empty()) {  // one implies the other
    joined = of_a.empty() ? a : b;
    return true;
  }
  if (of_a.size() != 1 || of_b.size() != 1 || of_a[0].first != of_b[0].first) return false;
  if (of_a[0].second + of_b[0].second != 1) return false;
  joined.clear();
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(joined));
  return true;
}

// When the nodes of a step are live, and in how many loops they are.
class Lives {
 public:
  explicit Lives(const Graph& graph) : graph_(graph), of_(static_cast<std::size_t>(graph.size())) {}

  Status find() {
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    for (const NodeId id : order) {
      const Node& n = graph_.node(id);
      Life& life = of(id);
      for (const Endpoint e : n.inputs) life.loops = std::max(life.loops, of(e.node).loops);
      for (const NodeId c : n.controls) life.loops = std::max(life.loops, of(c).loops);
      if (n.op->flow == Flow::kEnter) ++life.loops;
      if (n.op->flow == Flow::kExit) --life.loops;
      life.when = when(id);
      life.is_known = true;
    }
    return ok_status();
  }

  bool in_every_run(Endpoint e) const { return of(e.node).loops == 0 && when(e).empty(); }

 private:
  struct Life {
    Condition when;
    int loops = 0;
    bool is_known = false;  // not yet of what closes a loop
  };

  Life& of(NodeId id) { return of_[static_cast<std::size_t>(id.index)]; }
  const Life& of(NodeId id) const { return of_[static_cast<std::size_t>(id.index)]; }

  Condition when(Endpoint e) const {
    const Node& n = graph_.node(e.node);
    if (n.op->flow != Flow::kSwitch || e.index < 0) return of(e.node).when;
    return both(of(e.node).when, {{predicate(n.inputs[1]), e.index}});
  }

  Condition when(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op->flow == Flow::kControlTrigger) return {};
    Condition all;
    for (const NodeId c : n.controls) all = both(all, of(c).when);
    if (n.op->flow == Flow::kMerge) return both(all, of_merge(id));
    if (n.op->flow == Flow::kExit) return both(all, of_exit(id));
    for (const Endpoint e : n.inputs) all = both(all, when(e));
    return all;
  }

  Condition of_merge(NodeId id) const {
    std::vector<Condition> inputs;
    for (const Endpoint e : graph_.node(id).inputs) {
      if (of(e.node).is_known) inputs.push_back(when(e));
    }
    for (std::size_t i = 0; i + 1 < inputs.size();) {
      Condition joined;
      std::size_t k = i + 1;
      while (k < inputs.size() && !joins(inputs[i], inputs[k], joined)) ++k;
      if (k == inputs.size()) {
        ++i;
        continue;
      }
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(k));
      inputs[i] = std::move(joined);
      i = 0;  // it may now join what it did not
    }
    if (inputs.size() == 1) return inputs[0];
    return {{Endpoint{id, 0}, -1}};
  }

  // A loop ends: its Exits hold under what enters it, which is what its Merges hold under.
  Condition of_exit(NodeId id) const {
    const Node& from = graph_.node(graph_.node(id).inputs[0].node);
    if (from.op->flow == Flow::kSwitch && graph_.node(from.inputs[0].node).op->flow == Flow::kMerge) {
      return of(from.inputs[0].node).when;
    }
    return {{Endpoint{id, 0}, -1}};
  }

  // Behind Identities: tf.cond has one of its predicate.
  Endpoint predicate(Endpoint e) const {
    for (const Node* n = &graph_.node(e.node); n->op->forwards && n->inputs.size() == 1; n = &graph_.node(e.node)) {
      e = n->inputs[0];
    }
    return e;
  }

  const Graph& graph_;
  std::vector<Life> of_;  // by node
};

}  // namespace

std::vector<Endpoint> losses_of_every_run(const Graph& graph, const StepValues& values,
                                          const std::vector<Endpoint>& losses) {
  StepSignature signature = signature_of(values);
  const std::size_t fetches = signature.fetches.size();
  signature.fetches.insert(signature.fetches.end(), losses.begin(), losses.end());
  const auto step = prune_step(graph, signature);
  if (!step.ok()) return {};
  Lives lives(step->graph);
  if (!lives.find().ok()) return {};
  std::vector<Endpoint> found;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (lives.in_every_run(step->fetches[fetches + i])) found.push_back(losses[i]);
  }
  return found;
}

}  // namespace argosy::tf
