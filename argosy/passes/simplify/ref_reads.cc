#include "argosy/passes/simplify/ref_reads.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "argosy/graph/node_context.h"
#include "argosy/op/definition/opcode.h"
#include "argosy/passes/simplify/any_shape.h"

namespace argosy {

bool is_identity(const Node& n) { return n.op->opcode == Opcode::kIdentity; }

RefReads::RefReads(const Graph& graph, std::vector<NodeId> order)
    : graph_(graph),
      order_(std::move(order)),
      position_(order_.size()),
      root_(order_.size()),
      is_read_(order_.size()),
      variable_of_(order_.size(), -1) {
  visit([](RefVariable&, NodeId, bool) {});
}

const RefVariable* RefReads::variable_of(NodeId read) const {
  if (!is_read_[read.index]) return nullptr;
  return &variables_[static_cast<std::size_t>(variable_of_[root_[read.index].index])];
}

std::vector<RefVariable> RefReads::out_of_order() {
  const auto in_order = [](const RefVariable& v) { return v.read_in_order(); };
  if (std::all_of(variables_.begin(), variables_.end(), in_order)) return {};
  visit([&](RefVariable& v, NodeId id, bool writes) {
    if (!in_order(v)) (writes ? v.writers : v.reads).push_back(id);
  });
  std::vector<RefVariable> found;
  std::copy_if(variables_.begin(), variables_.end(), std::back_inserter(found), std::not_fn(in_order));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.root < b.root; });
  return found;
}

// Tells `note` of every writer and every read.
template <typename Note>
void RefReads::visit(const Note& note) {
  for (std::size_t p = 0; p < order_.size(); ++p) {
    const NodeId id = order_[p];
    position_[id.index] = static_cast<int>(p);
    const Node& n = graph_.node(id);
    const bool gives_ref = !n.output_dtypes.empty() && n.output_is_ref(0);
    if (n.inputs.empty()) {
      if (gives_ref) root_[id.index] = named(n, id);
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
      for (const NodeId slot : written_by(n)) {
        RefVariable& written = variable(slot);
        note(written, id, true);
        // TensorFlow copies as many elements as before into the memory that the variable has. Of another number it makes
        // new memory, and earlier reads keep the old.
        written.may_grow = written.may_grow || may_change_shape(graph_, n);
        written.first_writer = std::min(written.first_writer, position_[id.index]);
      }
    } else if ((takes_ref || is_read_[from.node.index]) && forwards_input(n)) {
      root_[id.index] = root;
      is_read_[id.index] = true;
      RefVariable& read = variable(root);
      read.in_loop |= n.op->flow == Flow::kEnter;
      note(read, id, false);
    }
  }
}

// The variables that the node takes by reference: an optimizer's slots, too.
std::vector<NodeId> RefReads::written_by(const Node& n) const {
  std::vector<bool> wants_ref;
  if (!arg_dtypes(n.op->input_args, n.attrs, &wants_ref).ok()) wants_ref.clear();
  std::vector<NodeId> found;
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const Endpoint e = n.inputs[k];
    const NodeId root = root_[e.node.index];
    if (root.index < 0 || !graph_.node(e.node).output_is_ref(e.index)) continue;
    const bool by_value = k < wants_ref.size() && !wants_ref[k];
    if (!by_value && std::find(found.begin(), found.end(), root) == found.end()) found.push_back(root);
  }
  return found;
}

// Gives what input 0 is, the same memory where that is a variable's: as a view, into a branch, into a loop.
bool RefReads::forwards_input(const Node& n) const {
  switch (n.op->flow) {
    case Flow::kNone: break;
    case Flow::kSwitch: return true;
    case Flow::kEnter: return n.attrs.get_bool("is_constant") && !has_shape_of_its_own(n.inputs[0]);
    default: return false;
  }
  if (n.op->view != nullptr && ask_op(graph_, n, n.op->view)) return true;
  if (!n.op->forwards || n.op->has_ref_input() || n.op->opcode == Opcode::kSnapshot) return false;
  return !n.op->stateful || (n.op->effect != Effect::kChanges && n.op->effect != Effect::kReads);
}

// A view that needs other values, as Reshape does: in a loop nobody can make it anew, for they stay outside.
bool RefReads::has_shape_of_its_own(Endpoint read) const {
  for (; !graph_.node(read.node).output_is_ref(read.index); read = graph_.node(read.node).inputs[0]) {
    const Node& n = graph_.node(read.node);
    if (n.op->flow == Flow::kNone && n.inputs.size() > 1) return true;
  }
  return false;
}

// Nodes of one name are one variable.
NodeId RefReads::named(const Node& n, NodeId id) { return named_.try_emplace(name_of_variable(n), id).first->second; }

RefVariable& RefReads::variable(NodeId root) {
  std::int32_t& at = variable_of_[static_cast<std::size_t>(root.index)];
  if (at < 0) {
    at = static_cast<std::int32_t>(variables_.size());
    variables_.push_back({.root = root});
  }
  return variables_[static_cast<std::size_t>(at)];
}

}  // namespace argosy
