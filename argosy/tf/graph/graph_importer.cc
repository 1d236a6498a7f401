#include "argosy/tf/graph/graph_importer.h"

#include <algorithm>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

namespace {

// Sets the nodes that are still on the stack back to kNew in its destructor, that is, after an exception. Otherwise the
// stack is empty then.
struct OpenNodes {
  std::vector<std::pair<std::int32_t, std::uint32_t>>& stack;
  ImportNodes& nodes;
  ~OpenNodes() {
    for (const auto& [node, input] : stack) nodes[node].state = ImportState::kNew;
    stack.clear();
  }
};

Status never_given(const std::string& argument) {
  return invalid_argument("You must feed a value for the argument '", argument,
                          "' (_Arg): it names no argument of a function here, so nothing gives its value")
      .with_id("ARG-FEED-001")
      .with_hint("an argument of a function is in its signature, not among its nodes");
}

// Gives the error of each failed node to the converted nodes that depend on it.
void spread_failures(std::span<const std::int32_t> done, ImportNodes& nodes, const StandIns& stand_ins) {
  for (bool more = true; more;) {
    more = false;
    for (const std::int32_t node : done) {
      if (nodes[node].state != ImportState::kDone) continue;
      for (const ImportInput& input : nodes.inputs(node)) {
        if (nodes[input.node].state != ImportState::kFailed || stand_ins.has(input)) continue;
        nodes.fail_as(node, nodes[input.node].error);
        more = true;
        break;
      }
    }
  }
}

}  // namespace

void GraphImporter::convert(std::span<const std::int32_t> roots) {
  for (const std::int32_t root : roots) {
    const std::size_t open = loops_.size();
    convert_one(root);
    // Converts the nodes that close the loops found so far, and those that close loops found meanwhile.
    for (std::size_t i = open; i < loops_.size(); ++i) convert_one(loops_[i].next);
    close_loops(open);
    loops_.resize(open);
  }
}

void GraphImporter::convert_one(std::int32_t root) {
  if (nodes_[root].state != ImportState::kNew) return;
  const auto open = [&](std::int32_t node) {
    nodes_[node].state = ImportState::kOpen;
    stack_.emplace_back(node, 0);
  };
  const OpenNodes unwound{stack_, nodes_};
  open(root);
  while (!stack_.empty()) {
    if (loops_.empty()) interrupts_();  // a loop that is open must be closed first
    const std::int32_t node = stack_.back().first;
    const ImportNode& entry = nodes_[node];
    std::int32_t next = -1;
    bool cycle = false;
    while (next < 0 && !cycle && stack_.back().second < entry.num_inputs) {
      const Input& input = nodes_.inputs(entry)[stack_.back().second++];
      if (is_back_edge(entry, input)) continue;
      if (nodes_[input.node].state == ImportState::kNew) next = input.node;
      cycle = nodes_[input.node].state == ImportState::kOpen;
    }
    if (next >= 0) {
      open(next);
      continue;
    }
    if (cycle) {
      nodes_.fail(node, invalid_argument("the graph has a cycle through it").with_id("ARG-GRAPH-004"));
    } else {
      build(node);
    }
    stack_.pop_back();
  }
}

void GraphImporter::build(std::int32_t node) {
  ImportNode& entry = nodes_[node];
  entry.chosen = context_.chosen || entry.is_switch;
  for (const Input& input : inputs(node)) entry.chosen = entry.chosen || nodes_[input.node].chosen;
  if (entry.chosen) {
    if (Status known = check_op(graph_.ops(), *entry.source.def, context_); !known.ok()) {
      entry.absent = true;
      return nodes_.fail(node, std::move(known));
    }
  }
  int position = 0;
  for (const Input& input : inputs(node)) {
    const bool there = is_back_edge(entry, input) || stand_ins_.provided(input, node, position);
    if (!there) return nodes_.fail_as(node, nodes_[input.node].error);
    if (input.index != Input::kControl) ++position;
  }
  std::vector<OpenLoop> loops;
  auto id = try_build(node, loops);
  if (!id.ok()) return nodes_.fail(node, std::move(id).status());
  nodes_[node].id = *id;
  nodes_[node].state = ImportState::kDone;
  loops_.insert(loops_.end(), loops.begin(), loops.end());
  done_.push_back(node);
  std::vector<std::string> functions;
  add_function_refs(graph_.node(*id).attrs, functions);
  for (std::string& function : functions) callers_.emplace_back(node, std::move(function));
}

Result<NodeId> GraphImporter::try_build(std::int32_t node, std::vector<OpenLoop>& loops) {
  const ImportNode& entry = nodes_[node];
  if (entry.source.def->op() == "_Arg") return never_given(entry.source.def->name());
  std::vector<Endpoint> from;
  std::vector<NodeId> controls;
  from.reserve(entry.num_inputs);
  for (const Input& input : inputs(node)) {
    if (is_back_edge(entry, input)) {
      loops.push_back({node, input.node, from.size() + loops.size(), input.index});
    } else if (input.index == Input::kControl) {
      controls.push_back(stand_ins_.ordered(input.node));
    } else {
      ARGOSY_RETURN_IF_ERROR(stand_ins_.resolve(input, from));
    }
  }
  BuildContext context = context_;
  context.chosen = entry.chosen;
  return add_node_def(graph_, entry.source, std::move(from), std::move(controls), static_cast<int>(loops.size()),
                      context);
}

void GraphImporter::close_loops(std::size_t first) {
  bool failed = false;
  for (std::size_t i = first; i < loops_.size();) {
    std::size_t end = i;
    while (end < loops_.size() && loops_[end].merge == loops_[i].merge) ++end;
    if (nodes_[loops_[i].merge].state == ImportState::kDone) {
      Status closed = close(loops_[i].merge, std::span(loops_).subspan(i, end - i));
      if (!closed.ok()) {
        failed = true;
        nodes_.fail(loops_[i].merge, std::move(closed));
      }
    }
    i = end;
  }
  if (failed) spread_failures(done_, nodes_, stand_ins_);
}

Status GraphImporter::close(std::int32_t merge, std::span<const OpenLoop> loops) {
  const NodeId id = nodes_[merge].id;
  const DType wanted = graph_.node(id).output_dtypes[0];
  std::vector<Endpoint> all = graph_.node(id).inputs;
  for (const OpenLoop& loop : loops) {
    const ImportNode& next = nodes_[loop.next];
    if (next.state != ImportState::kDone) return nodes_.status(loop.next);
    std::vector<Endpoint> back;
    ARGOSY_RETURN_IF_ERROR(stand_ins_.resolve({loop.next, std::max(loop.index, 0)}, back));
    if (graph_.dtype(back[0]) != wanted) {
      return invalid_argument("the loop brings back ", dtype_name(graph_.dtype(back[0])), ", not ", dtype_name(wanted))
          .with_id("ARG-DTYPE-002");
    }
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(loop.position), back[0]);
    graph_.add_input(id, back[0]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) graph_.set_input(id, static_cast<int>(i), all[i]);
  return ok_status();
}

void GraphImporter::fail_callers(const std::vector<std::string>& functions) {
  bool failed = false;
  const std::unordered_set<std::string_view> failing(functions.begin(), functions.end());
  for (const auto& [node, function] : callers_) {
    if (nodes_[node].state != ImportState::kDone || !failing.contains(function)) continue;
    nodes_.fail(node, in_function(function, context_.functions.status(function)));
    failed = true;
  }
  if (failed) spread_failures(done_, nodes_, stand_ins_);
}

}  // namespace argosy::tf
