// Shapes and known integers of a node as it is added, and the walks over a finished graph.
#include <algorithm>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/base/small_vector.h"
#include "argosy/graph/graph.h"
#include "argosy/graph/signature.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {
constexpr std::size_t kMaxKnownInts = 1024;  // longer integer tensors are data, not shapes

bool is_handle(DType d) { return d == DType::kResource || d == DType::kVariant; }
}  // namespace

const Graph::Fact* Graph::fact(Endpoint e) const {
  std::int32_t at = first_fact_[e.node.index];
  while (at >= 0 && facts_[at].output != e.index) at = facts_[at].next;
  return at < 0 ? nullptr : &facts_[at];
}

Graph::Fact& Graph::changeable_fact(Endpoint e) {
  std::int32_t& first = first_fact_[e.node.index];
  for (std::int32_t at = first; at >= 0; at = facts_[at].next) {
    if (facts_[at].output == e.index) return facts_[at];
  }
  facts_.push_back({.output = e.index, .next = first, .ints = {}, .handle = {}});
  first = static_cast<std::int32_t>(facts_.size() - 1);
  return facts_.back();
}

const PartialInts* Graph::known_ints(Endpoint e) const {
  const Fact* known = fact(e);
  return known != nullptr && known->ints ? &*known->ints : nullptr;
}

const HandleFact* Graph::handle(Endpoint e) const {
  const Fact* known = fact(e);
  return known != nullptr && known->handle.dtype != DType::kInvalid ? &known->handle : nullptr;
}

const Tensor* Graph::constant(Endpoint e) const {
  const Node& n = node(e.node);
  return n.op->name == "Const" ? n.attrs.find_as<Tensor>("value") : nullptr;
}

Status Graph::infer(NodeId id) {
  Node& node = nodes_[id.index];
  const std::size_t outputs = node.output_dtypes.size();
  // Shape functions look at the inputs that the definition names. The last inputs of a Merge may be yet to come.
  if (node.op->flow != Flow::kMerge) ARGOSY_RETURN_IF_ERROR(check_signature(*this, node));
  if (node.op->shape == no_output && outputs == 0) {
    node.output_shapes.clear();
    return ok_status();
  }
  SmallVector<DType, 8> dtypes;
  SmallVector<const PartialShape*, 8> shapes;
  SmallVector<const PartialInts*, 8> ints;
  SmallVector<const HandleFact*, 8> handles;
  for (const Endpoint from : node.inputs) {
    const Node& source = nodes_[from.node.index];
    dtypes.push_back(source.output_dtypes[static_cast<std::size_t>(from.index)]);
    shapes.push_back(&source.output_shapes[static_cast<std::size_t>(from.index)]);
    // Functions that tell an op's integers take scalars and vectors for granted.
    ints.push_back(node.op->known_ints != nullptr && shapes.back()->rank() > 1 ? nullptr : known_ints(from));
    handles.push_back(is_handle(dtypes.back()) ? handle(from) : nullptr);
  }
  const bool gives_handles = std::any_of(node.output_dtypes.begin(), node.output_dtypes.end(), is_handle);
  SmallVector<HandleFact, 2> output_handles(gives_handles ? outputs : 0);
  node.output_shapes.assign(outputs, PartialShape::unknown());
  ShapeContext context(*node.op, node.attrs, dtypes, shapes, ints, node.output_shapes, handles, output_handles);
  ARGOSY_RETURN_IF_ERROR(node.op->shape(context));
  for (std::size_t i = 0; gives_handles && i < outputs; ++i) {
    if (!is_handle(node.output_dtypes[i])) continue;
    HandleFact& fact = output_handles[i];
    // What forwards its input forwards what is known of it; sums and zeros are of the kind of their terms.
    const bool same = node.op->forwards || node.op->elementwise || node.op->flow != Flow::kNone;
    if (fact.dtype == DType::kInvalid && same && !handles.empty() && handles[0] != nullptr) fact = *handles[0];
    if (fact.dtype != DType::kInvalid) {
      changeable_fact({id, static_cast<std::int32_t>(i)}).handle = std::move(fact);
    }
  }
  if (node.op->known_ints != nullptr) {
    for (std::size_t i = 0; i < outputs; ++i) {
      const DType d = node.output_dtypes[i];
      if (d != DType::kInt32 && d != DType::kInt64) continue;
      auto known = node.op->known_ints(context, static_cast<int>(i));
      if (known && known->size() <= kMaxKnownInts) {
        changeable_fact({id, static_cast<std::int32_t>(i)}).ints = std::move(*known);
      }
    }
  }
  return ok_status();
}

Graph::Uses Graph::consumers() const {
  // Edges first, in one walk over the nodes: the lists of edges are short beside them.
  std::vector<std::pair<std::int32_t, Use>> edges;  // from, and to whom
  reserve_large(edges, nodes_.size() * 2);
  Uses uses;
  assign_large(uses.first_, nodes_.size() + 1, std::uint32_t{0});
  for (std::int32_t i = 0; i < size(); ++i) {
    const Node& n = nodes_[i];
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      edges.emplace_back(n.inputs[k].node.index, Use{NodeId{i}, static_cast<int>(k)});
    }
    for (const NodeId c : n.controls) edges.emplace_back(c.index, Use{NodeId{i}, -1});
  }
  for (const auto& [from, use] : edges) ++uses.first_[static_cast<std::size_t>(from) + 1];
  for (std::size_t i = 1; i < uses.first_.size(); ++i) uses.first_[i] += uses.first_[i - 1];
  reserve_large(uses.uses_, edges.size());
  uses.uses_.resize(edges.size());
  std::vector<std::uint32_t> at(uses.first_.begin(), uses.first_.end() - 1);
  for (const auto& [from, use] : edges) uses.uses_[at[static_cast<std::size_t>(from)]++] = use;
  return uses;
}

}  // namespace argosy
