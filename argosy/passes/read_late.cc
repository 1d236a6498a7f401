#include "argosy/passes/read_late.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace argosy {

namespace {

struct Variable {
  NodeId root;
  int first_writer = std::numeric_limits<int>::max();  // positions
  int last_use = -1;                                   // of a read, as an input
  // Of those that are read behind the first writer, in the order of the graph.
  std::vector<NodeId> writers = {};
  std::vector<NodeId> reads = {};  // Identity of the reference, and Identity of those
};

class ReadLate {
 public:
  ReadLate(StepGraph& step, std::vector<NodeId> order) : graph_(step.graph), order_(std::move(order)) {}

  int run() {
    find_variables([](Variable&, NodeId, bool) {});
    const auto in_order = [](const Variable& v) { return v.last_use < v.first_writer; };
    if (std::all_of(variables_.begin(), variables_.end(), in_order)) return 0;
    find_variables([&](Variable& v, NodeId id, bool writes) {
      if (!in_order(v)) (writes ? v.writers : v.reads).push_back(id);
    });
    std::erase_if(variables_, in_order);
    std::sort(variables_.begin(), variables_.end(), [](const auto& a, const auto& b) { return a.root < b.root; });
    uses_ = graph_.consumers();
    after_.assign(order_.size(), 0);
    int rewired = 0;
    for (const Variable& variable : variables_) {
      for (const NodeId writer : variable.writers) {
        follow(writer, last_reader(variable));
        for (const NodeId read : variable.reads) {
          if (!is_after(read)) rewired += rewire(read);
        }
      }
    }
    return rewired;
  }

 private:
  // Tells `note` of every writer and every read.
  template <typename Note>
  void find_variables(const Note& note) {
    position_.resize(order_.size());
    root_.resize(order_.size());
    source_.resize(order_.size());
    if (variable_of_.empty()) variable_of_.assign(order_.size(), -1);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const NodeId id = order_[p];
      position_[id.index] = static_cast<int>(p);
      const Node& n = graph_.node(id);
      const bool gives_ref = !n.output_dtypes.empty() && n.output_is_ref(0);
      if (n.inputs.empty()) {
        if (gives_ref) root_[id.index] = id;
        continue;
      }
      for (const Endpoint e : n.inputs) {
        if (source_[e.node.index].node.index < 0) continue;
        int& last = variable(root_[e.node.index]).last_use;
        last = std::max(last, position_[id.index]);
      }
      const Endpoint from = n.inputs[0];
      const NodeId root = root_[from.node.index];
      if (root.index < 0) continue;
      const bool takes_ref = graph_.node(from.node).output_is_ref(from.index);
      if (takes_ref && n.op->has_ref_input()) {
        if (gives_ref) root_[id.index] = root;
        if (n.op->forwards) continue;
        Variable& written = variable(root);
        note(written, id, true);
        written.first_writer = std::min(written.first_writer, position_[id.index]);
      } else if (n.op->name == "Identity") {
        root_[id.index] = root;
        source_[id.index] = takes_ref ? from : source_[from.node.index];
        note(variable(root), id, false);
      }
    }
  }

  Variable& variable(NodeId root) {
    std::int32_t& at = variable_of_[static_cast<std::size_t>(root.index)];
    if (at < 0) {
      at = static_cast<std::int32_t>(variables_.size());
      variables_.push_back({.root = root});
    }
    return variables_[static_cast<std::size_t>(at)];
  }

  // The last position at which a read's value is wanted.
  int last_reader(const Variable& variable) const {
    int last = -1;
    for (const NodeId read : variable.reads) {
      for (const Graph::Use& u : uses_[read.index]) last = std::max(last, position_[u.node.index]);
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
        if (position_[u.node.index] > last || std::exchange(after_[u.node.index], search_) == search_) continue;
        work.push_back(u.node);
      }
    }
  }
  bool is_after(NodeId id) const { return after_[id.index] == search_; }

  int rewire(NodeId read) {
    int rewired = 0;
    for (const Graph::Use& u : uses_[read.index]) {
      if (u.input < 0 || !is_after(u.node)) continue;
      if (graph_.node(u.node).inputs[u.input] != Endpoint{read, 0}) continue;
      graph_.set_input(u.node, u.input, source_[read.index]);
      graph_.add_control_input(u.node, read);  // which may wait for others, or fail
      ++rewired;
    }
    return rewired;
  }

  Graph& graph_;
  const std::vector<NodeId> order_;
  Graph::Uses uses_;
  std::vector<int> position_;
  std::vector<NodeId> root_;               // by node: the variable its output 0 is, or is a read of
  std::vector<Endpoint> source_;           // by read: the reference
  std::vector<std::int32_t> variable_of_;  // by node: where in variables_ the variable is that it makes; -1: nowhere
  std::vector<Variable> variables_;
  std::vector<int> after_;  // by node: the last search that met it
  int search_ = 0;
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
