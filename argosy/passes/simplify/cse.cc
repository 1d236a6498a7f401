#include "argosy/passes/simplify/cse.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <vector>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/op/definition/attr_hash.h"

namespace argosy {

namespace {

constexpr int kMostTried = 64;                   // nodes of one hash that turn out to differ
constexpr std::size_t kMaxConstantBytes = 4096;  // comparing larger constants costs more than a copy saves

std::size_t combine(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15 + (seed >> 29); }

std::size_t hash_of(const AttrMap& attrs) {
  std::size_t h = 0;
  for (const auto& [name, value] : attrs) {
    h = combine(h, hash_attr(value));
    if (const auto* t = std::get_if<Tensor>(&value); t != nullptr && is_plain(t->dtype())) {
      h = combine(h, std::hash<std::string_view>()(
                         {static_cast<const char*>(t->raw()), std::min<std::size_t>(t->bytes(), 64)}));
    }
  }
  return h;
}

// What a node reads mostly tells it from all others. Its attributes lie far from it, and are asked where nothing else
// does: of constants.
std::size_t hash_of(const Node& n) {
  std::size_t h = std::hash<const void*>()(n.op);
  for (const Endpoint e : n.inputs)
    h = combine(h, static_cast<std::size_t>(e.node.index) * 16 + static_cast<std::size_t>(e.index));
  for (const NodeId c : n.controls) h = combine(h, static_cast<std::size_t>(c.index) + 7);
  return combine(h, n.inputs.empty() ? hash_of(n.attrs) : 0);  // which also spreads the last input over all bits
}

bool may_merge(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  if (n.op->stateful || n.op->flow != Flow::kNone || n.op->async || n.op->has_ref_input() || n.output_dtypes.empty())
    return false;
  if (!n.output_refs.empty()) return false;
  const Tensor* const constant = graph.constant({id, 0});
  return constant == nullptr || (is_plain(constant->dtype()) && constant->bytes() <= kMaxConstantBytes);
}

bool equal(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.controls == b.controls && a.device == b.device &&
         a.colocated_with == b.colocated_with && a.attrs == b.attrs;
}

// A read of a variable as a value may see another value than an earlier one.
bool reads_reference(const Graph& graph, const Node& n) {
  return std::any_of(n.inputs.begin(), n.inputs.end(),
                     [&](Endpoint e) { return graph.node(e.node).output_is_ref(e.index); });
}

// The node reads and waits for what stays in place of what merged.
void redirect(Graph& graph, NodeId id, const std::vector<NodeId>& instead) {
  const Node& n = graph.node(id);
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const NodeId kept = instead[static_cast<std::size_t>(n.inputs[k].node.index)];
    if (kept.index >= 0) graph.set_input(id, static_cast<int>(k), {kept, n.inputs[k].index});
  }
  for (std::size_t k = 0; k < n.controls.size();) {
    const NodeId from = n.controls[k], kept = instead[static_cast<std::size_t>(from.index)];
    if (kept.index >= 0) {
      graph.replace_control_input(id, from, kept);
      k = 0;  // they are sorted
    } else {
      ++k;
    }
  }
}

// Nodes by their hash, in one array.
class Seen {
 public:
  explicit Seen(std::size_t nodes) { assign_large(entries_, std::bit_ceil(2 * nodes + 1), Entry()); }

  // The node of this hash that `same` says it is, or `id`, from now on to be found. Of very many that read the same
  // and are not, some are not looked at.
  template <typename Same>
  NodeId find_or_add(std::size_t hash, NodeId id, Same same) {
    const std::size_t mask = entries_.size() - 1;
    const auto half = static_cast<std::uint32_t>(hash >> 32);
    int tried = 0;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      Entry& e = entries_[at];
      if (e.node.index < 0) {
        e = {half, id};
        return id;
      }
      if (e.hash != half) continue;
      if (same(e.node)) return e.node;
      if (++tried == kMostTried) return id;
    }
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;  // its upper half
    NodeId node;
  };
  std::vector<Entry> entries_;
};

}  // namespace

Result<int> cse(StepGraph& step) {
  Graph& graph = step.graph;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, step.graph.topological_order());
  Seen seen(static_cast<std::size_t>(graph.size()));
  // By node: the equal one that stays, which comes before it and before who reads it. (What closes a loop reads nothing
  // that may merge.)
  std::vector<NodeId> instead(static_cast<std::size_t>(graph.size()));
  int merged = 0;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (merged > 0) redirect(graph, id, instead);
    if (!may_merge(graph, id) || reads_reference(graph, n)) continue;
    const NodeId kept = seen.find_or_add(hash_of(n), id, [&](NodeId other) { return equal(graph.node(other), n); });
    if (kept == id) continue;
    instead[static_cast<std::size_t>(id.index)] = kept;
    ++merged;
  }
  const auto stays = [&](NodeId id) {
    const NodeId kept = instead[static_cast<std::size_t>(id.index)];
    return kept.index < 0 ? id : kept;
  };
  for (Endpoint& fetch : step.fetches) fetch.node = stays(fetch.node);
  for (NodeId& target : step.targets) target = stays(target);
  return merged;
}

}  // namespace argosy
