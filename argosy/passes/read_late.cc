#include "argosy/passes/read_late.h"

#include <algorithm>
#include <map>

namespace argosy {

namespace {

struct Variable {
  std::vector<NodeId> writers;
  std::vector<NodeId> reads;  // Identity of the reference, and Identity of those
};

class ReadLate {
 public:
  ReadLate(StepGraph& step, std::vector<NodeId> order)
      : graph_(step.graph), order_(std::move(order)), uses_(graph_.consumers()) {}

  int run() {
    find_variables();
    int rewired = 0;
    for (auto& [node, variable] : variables_) {
      if (variable.reads.empty()) continue;
      for (const NodeId writer : variable.writers) {
        const std::vector<char> after = following(writer, last_reader(variable));
        for (const NodeId read : variable.reads) {
          if (after[read.index] == 0) rewired += rewire(read, after);
        }
      }
    }
    return rewired;
  }

 private:
  void find_variables() {
    position_.resize(order_.size());
    root_.resize(order_.size());
    source_.resize(order_.size());
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const NodeId id = order_[p];
      position_[id.index] = static_cast<int>(p);
      const Node& n = graph_.node(id);
      const bool gives_ref = !n.output_dtypes.empty() && n.output_is_ref(0);
      if (n.inputs.empty()) {
        if (gives_ref) root_[id.index] = id;
        continue;
      }
      const Endpoint from = n.inputs[0];
      const bool takes_ref = graph_.node(from.node).output_is_ref(from.index);
      const NodeId root = root_[from.node.index];
      if (root.index < 0) continue;
      if (takes_ref && n.op->has_ref_input()) {
        if (gives_ref) root_[id.index] = root;
        if (!n.op->forwards) variables_[root].writers.push_back(id);
      } else if (n.op->name == "Identity") {
        root_[id.index] = root;
        source_[id.index] = takes_ref ? from : source_[from.node.index];
        variables_[root].reads.push_back(id);
      }
    }
  }

  // The last position at which a read's value is wanted.
  int last_reader(const Variable& variable) const {
    int last = -1;
    for (const NodeId read : variable.reads) {
      for (const Graph::Use& u : uses_[read.index]) last = std::max(last, position_[u.node.index]);
    }
    return last;
  }

  // What comes after the writer, up to that position.
  std::vector<char> following(NodeId writer, int last) const {
    std::vector<char> after(order_.size(), 0);
    std::vector<NodeId> work = {writer};
    while (!work.empty()) {
      const NodeId id = work.back();
      work.pop_back();
      for (const Graph::Use& u : uses_[id.index]) {
        if (position_[u.node.index] > last || std::exchange(after[u.node.index], 1) != 0) continue;
        work.push_back(u.node);
      }
    }
    return after;
  }

  int rewire(NodeId read, const std::vector<char>& after) {
    int rewired = 0;
    for (const Graph::Use& u : uses_[read.index]) {
      if (u.input < 0 || after[u.node.index] == 0) continue;
      if (graph_.node(u.node).inputs[u.input] != Endpoint{read, 0}) continue;
      graph_.set_input(u.node, u.input, source_[read.index]);
      graph_.add_control_input(u.node, read);  // which may wait for others, or fail
      ++rewired;
    }
    return rewired;
  }

  Graph& graph_;
  const std::vector<NodeId> order_;
  const Graph::Uses uses_;
  std::vector<int> position_;
  std::vector<NodeId> root_;      // by node: the variable its output 0 is, or is a read of
  std::vector<Endpoint> source_;  // by read: the reference
  std::map<NodeId, Variable> variables_;
};

}  // namespace

Result<int> read_late(StepGraph& step) {
  const auto has_variables = [](const Node& n) { return !n.output_dtypes.empty() && n.output_is_ref(0); };
  bool any = false;
  for (int i = 0; i < step.graph.size() && !any; ++i) any = has_variables(step.graph.node(NodeId{i}));
  if (!any) return 0;
  ARGOSY_ASSIGN_OR_RETURN(auto order, step.graph.topological_order());
  return ReadLate(step, std::move(order)).run();
}

}  // namespace argosy
