#include "argosy/passes/simplify/order_ref_reads.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/base/str.h"
#include "argosy/op/definition/opcode.h"

namespace argosy {

namespace {

struct Variable {
  NodeId root;
  int first_writer = std::numeric_limits<int>::max();  // positions
  int last_use = -1;                                   // of a read, as an input
  bool in_loop = false;                                // read there: in a later iteration after what is behind it
  bool may_grow = false;                               // a writer may give it another number of elements
  // Of those that are read behind the first writer, in the order of the graph.
  std::vector<NodeId> writers = {};
  std::vector<NodeId> reads = {};  // Identity of the reference, and what forwards that
  bool read_in_order() const {
    return first_writer == std::numeric_limits<int>::max() || (!in_loop && last_use < first_writer);
  }
};

// Gives what input 0 is, the same memory where that is a variable's: into a branch, into a loop.
bool forwards_input(const Node& n) {
  return n.op->opcode == Opcode::kIdentity || n.op->flow == Flow::kSwitch ||
         (n.op->flow == Flow::kEnter && n.attrs.get_bool("is_constant"));
}

// An Assign that takes any shape. TensorFlow copies as many elements as before into the memory that the variable has.
// Of another number it makes new memory, and earlier reads keep the old.
bool may_change_size(const Graph& graph, const Node& writer) {
  const bool* const same = writer.attrs.find_as<bool>("validate_shape");
  if (same == nullptr || *same) return false;
  const PartialShape &before = graph.shape(writer.inputs[0]), &after = graph.shape(writer.inputs[1]);
  return !before.is_full() || before != after;
}

class RefReadOrderer {
 public:
  RefReadOrderer(StepGraph& step, std::vector<NodeId> order) : graph_(step.graph), order_(std::move(order)) {}

  Result<int> run() {
    find_variables([](Variable&, NodeId, bool) {});
    const auto in_order = [](const Variable& v) { return v.read_in_order(); };
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
          if (is_after(read)) continue;
          ARGOSY_ASSIGN_OR_RETURN(const int uses, rewire(read, variable.may_grow));
          rewired += uses;
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
    is_read_.resize(order_.size());
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
        if (!is_read_[e.node.index]) continue;
        int& last = variable(root_[e.node.index]).last_use;
        last = std::max(last, position_[id.index]);
      }
      const Endpoint from = n.inputs[0];
      const NodeId root = root_[from.node.index];
      if (root.index < 0) continue;
      const bool takes_ref = graph_.node(from.node).output_is_ref(from.index);
      if (takes_ref && n.op->has_ref_input()) {
        if (gives_ref) root_[id.index] = root;
        if (n.op->forwards || n.op->flow != Flow::kNone) continue;
        Variable& written = variable(root);
        note(written, id, true);
        written.may_grow = written.may_grow || may_change_size(graph_, n);
        written.first_writer = std::min(written.first_writer, position_[id.index]);
      } else if (forwards_input(n) && (takes_ref || is_read_[from.node.index])) {
        root_[id.index] = root;
        is_read_[id.index] = true;
        Variable& read = variable(root);
        read.in_loop |= n.op->flow == Flow::kEnter;
        note(read, id, false);
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
    if (variable.in_loop) return std::numeric_limits<int>::max();
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

  Result<int> rewire(NodeId read, bool may_grow) {
    int rewired = 0;
    for (const Graph::Use& u : uses_[read.index]) {
      // Merge takes what is not dead, which is known of values only.
      if (u.input < 0 || !is_after(u.node) || graph_.node(u.node).op->flow == Flow::kMerge) continue;
      const Endpoint value = graph_.node(u.node).inputs[u.input];
      if (value.node != read) continue;
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint variable, reference(value));
      if (may_grow) {
        ARGOSY_ASSIGN_OR_RETURN(const NodeId again, read_again(u, value, variable));
        graph_.set_input(u.node, u.input, {again, 0});
        ++rewired;
        continue;
      }
      graph_.set_input(u.node, u.input, variable);
      // It may wait for others, or fail.
      if (graph_.node(read).op->flow == Flow::kNone) graph_.add_control_input(u.node, read);
      ++rewired;
    }
    return rewired;
  }

  // Reads the variable just before the user does: after all that the user reads and waits for.
  Result<NodeId> read_again(const Graph::Use& use, Endpoint value, Endpoint variable) {
    const Node& user = graph_.node(use.node);
    NodeSpec spec = {.name = graph_.unique_name(str_cat(graph_.node(value.node).name, "/again")), .op = "_ReadAgain"};
    spec.inputs = {value, variable};
    spec.attrs = {{"T", graph_.dtype(value)}};
    spec.controls.assign(user.controls.begin(), user.controls.end());
    for (int k = 0; k < std::ssize(user.inputs); ++k) {
      if (k != use.input) spec.controls.push_back(user.inputs[static_cast<std::size_t>(k)].node);
    }
    spec.device = std::string(user.device);
    return graph_.add_node(std::move(spec));
  }

  // The variable that this is a read of, where the read is: in the same branch, in the same loop.
  Result<Endpoint> reference(Endpoint value) {
    if (graph_.node(value.node).output_is_ref(value.index)) return value;
    const Endpoint from = graph_.node(value.node).inputs[0];
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint variable, reference(from));
    const Node& n = graph_.node(value.node);
    if (n.op->flow == Flow::kNone) return variable;
    const auto [twin, is_new] = twins_.try_emplace(value.node.index);
    if (is_new) {
      NodeSpec spec = {.name = graph_.unique_name(str_cat(n.name, "/ref")), .op = "Ref" + n.op->name};
      spec.inputs.assign(n.inputs.begin(), n.inputs.end());
      spec.inputs[0] = variable;
      spec.controls.assign(n.controls.begin(), n.controls.end());
      if (variable != from && graph_.node(from.node).op->flow == Flow::kNone) spec.controls.push_back(from.node);
      spec.attrs = n.attributes();
      spec.device = std::string(n.device);
      ARGOSY_ASSIGN_OR_RETURN(twin->second, graph_.add_node(std::move(spec)));
    }
    return Endpoint{twin->second, value.index};
  }

  Graph& graph_;
  const std::vector<NodeId> order_;
  Graph::Uses uses_;
  std::vector<int> position_;
  std::vector<NodeId> root_;               // by node: the variable its output 0 is, or is a read of
  std::vector<char> is_read_;              // by node: its outputs are the variable's value
  std::vector<std::int32_t> variable_of_;  // by node: where in variables_ the variable is that it makes; -1: nowhere
  std::vector<Variable> variables_;
  std::unordered_map<std::int32_t, NodeId> twins_;  // by Switch or Enter of a read: that of the reference
  std::vector<int> after_;                          // by node: the last search that met it
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
