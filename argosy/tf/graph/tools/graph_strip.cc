#include "argosy/tf/graph/tools/graph_strip.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/tools/graph_leftovers.h"

namespace argosy::tf {

namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

std::string node_of(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  return std::string(input.substr(0, input.find(':')));
}

// True for ops that forward their input and have an effect in training only.
bool only_passes_on(std::string_view op) {
  return op == "CheckNumerics" || op == "PreventGradient" || op == "StopGradient" || op == "Snapshot";
}
bool only_checks(std::string_view op) { return op == "Assert" || op == "Print" || op == "PrintV2"; }

class GraphStripper {
 public:
  GraphStripper(GraphDef& def, const OpRegistry& ops, const GraphForm::StripOptions& options)
      : def_(def), ops_(ops), options_(options) {
    for (int i = 0; i < def.node_size(); ++i) by_name_.emplace(def.node(i).name(), i);
  }

  Result<std::string> run() {
    const int before = def_.node_size();
    for (const std::string& output : options_.outputs) {
      if (by_name_.contains(node_of(output))) continue;
      std::vector<std::string> names;
      for (const auto& node : def_.node()) names.push_back(node.name());
      const std::string near = nearest_word(node_of(output), names);
      return not_found("the graph has no node \"", output, "\"")
          .with_id("ARG-GRAPH-001")
          .with_hint(near.empty() ? "" : str_cat("\"", near, "\", if that was meant"));
    }
    if (options_.training) bypass();
    if (!options_.outputs.empty() || options_.training) keep_needed();
    const int attrs = options_.defaults ? strip_defaults(def_, ops_) : 0;
    if (options_.devices) {
      for (NodeDef& node : *def_.mutable_node()) node.clear_device();
    }
    drop_functions(def_);
    forget_colocations(def_);
    std::string text = str_cat(before - def_.node_size(), " of ", before, " nodes left out");
    if (bypassed_ > 0) text += str_cat(", ", bypassed_, " of them bypassed");
    if (options_.defaults) text += str_cat("; ", attrs, " attributes that were defaults");
    return text;
  }

 private:
  // Connects users of a node that only forwards its input to that input. Control edges from checks are removed.
  void bypass() {
    std::unordered_map<std::string, std::string> instead;  // node -> the input that it forwards
    std::unordered_set<std::string> checks;
    std::unordered_set<std::string> asked;
    for (const std::string& output : options_.outputs) asked.insert(node_of(output));
    for (const NodeDef& node : def_.node()) {
      if (asked.contains(node.name())) continue;
      const bool controls = std::any_of(node.input().begin(), node.input().end(),
                                        [](const std::string& i) { return i.starts_with('^'); });
      if (only_passes_on(node.op()) && node.input_size() == 1 && !controls) instead[node.name()] = node.input(0);
      if (only_checks(node.op()) && node.op() != "Print") checks.insert(node.name());
    }
    bypassed_ = static_cast<int>(instead.size());
    const auto source = [&](std::string input) {
      for (std::size_t steps = 0; steps <= instead.size(); ++steps) {
        const bool whole = input.find(':') == std::string::npos || input.ends_with(":0");
        const auto found = whole ? instead.find(node_of(input)) : instead.end();
        if (found == instead.end()) break;
        input = found->second;
      }
      return input;
    };
    for (NodeDef& node : *def_.mutable_node()) {
      std::vector<std::string> inputs;
      std::set<std::string> waits;
      for (const std::string& input : node.input()) {
        if (!input.starts_with('^')) {
          inputs.push_back(source(input));
        } else if (!checks.contains(node_of(input))) {
          waits.insert("^" + node_of(source(input.substr(1))));
        }
      }
      node.clear_input();
      for (std::string& input : inputs) node.add_input(std::move(input));
      for (const std::string& input : waits) node.add_input(input);
    }
  }

  // Removes the nodes that no output depends on. Without outputs: those that no node of ends() depends on.
  void keep_needed() {
    std::vector<char> needed(static_cast<std::size_t>(def_.node_size()), 0);
    std::vector<int> stack;
    const auto need = [&](const std::string& name) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end() || needed[static_cast<std::size_t>(found->second)]) return;
      needed[static_cast<std::size_t>(found->second)] = 1;
      stack.push_back(found->second);
    };
    for (const std::string& output : options_.outputs) need(node_of(output));
    if (options_.outputs.empty()) {
      for (const std::string& name : ends()) need(name);
    }
    while (!stack.empty()) {
      const NodeDef& node = def_.node(stack.back());
      stack.pop_back();
      for (const std::string& input : node.input()) need(node_of(input));
    }
    int at = 0;
    for (int i = 0; i < def_.node_size(); ++i) {
      if (!needed[static_cast<std::size_t>(i)]) continue;
      if (at != i) def_.mutable_node()->SwapElements(at, i);
      ++at;
    }
    def_.mutable_node()->DeleteSubrange(at, def_.node_size() - at);
  }

  // Returns the outputs of a graph for which none were given: nodes without consumers, consumers for training, saving,
  // checks and summaries not counted. Such nodes themselves, NoOp, Const and Placeholder are no outputs.
  std::vector<std::string> ends() const {
    std::unordered_set<std::string> taken;
    for (const NodeDef& node : def_.node()) {
      if (is_training(node)) continue;
      for (const std::string& input : node.input()) taken.insert(node_of(input));
    }
    std::vector<std::string> ends;
    for (const NodeDef& node : def_.node()) {
      const bool nothing = node.op() == "NoOp" || node.op() == "Const" || node.op() == "Placeholder";
      if (!taken.contains(node.name()) && !is_training(node) && !nothing) ends.push_back(node.name());
    }
    return ends;
  }

  bool is_training(const NodeDef& node) const {
    const std::string& op = node.op();
    for (const char* part : {"Assign", "Apply", "Save", "Restore", "Summary", "MergeV2Checkpoints", "ShardedFilename",
                             "IsVariableInitialized", "VarIsInitializedOp"}) {
      if (op.find(part) != std::string::npos) return true;
    }
    return node.name().starts_with("gradients/") || node.name().starts_with("save/") || only_checks(op);
  }

  GraphDef& def_;
  const OpRegistry& ops_;
  const GraphForm::StripOptions& options_;
  std::unordered_map<std::string, int> by_name_;
  int bypassed_ = 0;
};

}  // namespace

Result<std::string> strip_graph(GraphDef& def, const OpRegistry& ops, const GraphForm::StripOptions& options) {
  return GraphStripper(def, ops, options).run();
}

}  // namespace argosy::tf
