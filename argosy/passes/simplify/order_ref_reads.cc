#include "argosy/passes/simplify/order_ref_reads.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "argosy/passes/simplify/late_reads.h"
#include "argosy/passes/simplify/ref_reads.h"

namespace argosy {

namespace {

class RefReadOrderer {
 public:
  RefReadOrderer(StepGraph& step, std::vector<NodeId> order)
      : step_(step), graph_(step.graph), reads_(step.graph, std::move(order)), late_reads_(step.graph) {}

  Result<int> run() {
    int rewired = fetch_variables();
    const std::vector<RefVariable> variables = reads_.out_of_order();
    if (variables.empty()) return rewired;
    uses_ = graph_.consumers();
    after_.assign(static_cast<std::size_t>(graph_.size()), 0);
    for (const RefVariable& variable : variables) {
      for (const NodeId writer : variable.writers) {
        follow(writer, last_reader(variable));
        for (const NodeId read : variable.reads) {
          if (is_after(read)) continue;
          ARGOSY_ASSIGN_OR_RETURN(const int uses, rewire(read, variable.may_grow));
          rewired += uses;
        }
      }
    }
    return rewired;
  }

 private:
  // A fetched read is handed over when the step is over, with what all updates have made of the variable by then.
  int fetch_variables() {
    int fetched = 0;
    for (std::size_t i = 0; i < step_.fetches.size(); ++i) {
      Endpoint& fetch = step_.fetches[i];
      if (fetch.index < 0) continue;
      const RefVariable* const read = reads_.variable_of(fetch.node);
      if (read == nullptr || !read->is_written() || read->may_grow) continue;
      const std::optional<Endpoint> reference = read_by_identities(fetch);
      if (!reference) continue;
      step_.targets.push_back(fetch.node);  // it may wait for others, or fail
      auto positions = graph_.node(fetch.node).attrs.get_or<std::vector<std::int64_t>>(kFetchedAs, {});
      positions.push_back(static_cast<std::int64_t>(i));
      graph_.set_attr(fetch.node, kFetchedAs, std::move(positions));
      fetch = *reference;
      ++fetched;
    }
    return fetched;
  }

  // The variable, if the value never leaves its memory: no view, no branch, no loop, no other device lies between.
  std::optional<Endpoint> read_by_identities(Endpoint value) const {
    while (!graph_.node(value.node).output_is_ref(value.index)) {
      const Node& n = graph_.node(value.node);
      if (!is_identity(n) || n.device != graph_.node(n.inputs[0].node).device) return std::nullopt;
      value = n.inputs[0];
    }
    return graph_.node(value.node).inputs.empty() ? std::optional(value) : std::nullopt;
  }

  // The last position at which a read's value is wanted.
  int last_reader(const RefVariable& variable) const {
    if (variable.in_loop) return std::numeric_limits<int>::max();
    int last = -1;
    for (const NodeId read : variable.reads) {
      for (const Graph::Use& u : uses_[read.index]) last = std::max(last, reads_.position(u.node));
    }
    return last;
  }

  // Marks what comes after the writer, up to that position.
  void follow(NodeId writer, int last) {
    ++search_;
    std::vector<NodeId> work = {writer};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      for (const Graph::Use& u : uses_[id.index]) {
        if (reads_.position(u.node) > last || std::exchange(after_[u.node.index], search_) == search_) continue;
        work.push_back(u.node);
      }
    }
  }
  bool is_after(NodeId id) const { return after_[id.index] == search_; }

  Result<int> rewire(NodeId read, bool may_grow) {
    int rewired = 0;
    for (const Graph::Use& u : uses_[read.index]) {
      // Merge takes what is not dead, which is known of values only.
      if (u.input < 0 || !is_after(u.node) || graph_.node(u.node).op->flow == Flow::kMerge) continue;
      if (graph_.node(u.node).inputs[u.input].node != read) continue;
      ARGOSY_ASSIGN_OR_RETURN(const bool is_late, late_reads_.make_late(u, may_grow));
      rewired += is_late ? 1 : 0;
    }
    return rewired;
  }

  StepGraph& step_;
  Graph& graph_;
  RefReads reads_;
  LateReads late_reads_;
  Graph::Uses uses_;
  std::vector<int> after_;  // by node: the last search that met it
  int search_ = 0;
};

}  // namespace

Result<int> order_ref_reads(StepGraph& step) {
  const auto has_variables = [](const Node& n) { return !n.output_dtypes.empty() && n.output_is_ref(0); };
  bool any = false;
  for (int i = 0; i < step.graph.size() && !any; ++i) any = has_variables(step.graph.node(NodeId{i}));
  if (!any) return 0;
  ARGOSY_ASSIGN_OR_RETURN(auto order, step.graph.topological_order());
  return RefReadOrderer(step, std::move(order)).run();
}

}  // namespace argosy
