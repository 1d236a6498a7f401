#include "argosy/strategy/sharding/batch_positions.h"

#include <algorithm>
#include <string_view>

#include "argosy/strategy/analysis/tensor_arrays.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/batch_placement.h"

namespace argosy {

namespace {

constexpr const char* kDepends = "depends on where in the batch an example lies";

bool is_one_of(const Node& n, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), n.op->name) != ops.end();
}

std::optional<std::int64_t> known_number(const Graph& graph, Endpoint e) {
  const PartialInts* const ints = graph.known_ints(e);
  return ints != nullptr && ints->size() == 1 ? (*ints)[0] : std::nullopt;
}

// Gives several tensors like its input: Split, Unpack, IdentityN.
bool gives_parts(const Node& n) {
  const auto& outputs = n.op->output_args;
  return outputs.size() == 1 && (!outputs[0].number_attr.empty() || !outputs[0].type_list_attr.empty());
}

}  // namespace

BatchPositions::Position BatchPositions::of(Endpoint e) const {
  if (e.index < 0) return {};
  const BatchRule rule = rule_of(*graph_.node(e.node).op);
  if (rule == BatchRule::kUnique) return e.index == 1 ? Position{Kind::kOwn, 0} : Position{};
  const bool first_only = rule == BatchRule::kRowNumbers || rule == BatchRule::kRenumbers;
  return first_only && e.index != 0 ? Position{} : of_[e.node.index];
}

// From 0 on; one for each example, or for each of its entries.
BatchPositions::Position BatchPositions::counted(const Node& n, NodeId id) const {
  const auto sees_rows = [&](Endpoint e) { return axes_.axis(e) != BatchAxes::kNone; };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), sees_rows)) {  // Where
    const std::int64_t each = axes_.rows_per_example(n.inputs[0]);
    return axes_.repeats(n.inputs[0]) == 1 ? Position{Kind::kOwn, each} : Position{Kind::kOdd};
  }
  if (!has_rows({id, 0})) return {};
  const auto start = known_number(graph_, n.inputs[0]), step = known_number(graph_, n.inputs[2]);
  const std::int64_t each = axes_.rows_per_example({id, 0});
  if (start != 0 || !step || *step < 1 || (*step > 1 && each != 1)) return {Kind::kOdd};
  return {Kind::kOwn, each * *step};
}

// Sums with what an example has, products with constants.
BatchPositions::Position BatchPositions::computed(const Node& n) const {
  Position place;
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const Position own = of(n.inputs[k]);
    if (own.kind < Kind::kOwn) {
      place.kind = std::max(place.kind, own.kind);
      continue;
    }
    if (place.kind != Kind::kNone || own.kind == Kind::kOdd || !is_integer(n.output_dtypes[0])) return {Kind::kOdd};
    place = own;
    if (n.op->name == "Cast") continue;
    if (is_one_of(n, {"Add", "AddV2", "AddN"}) || (n.op->name == "Sub" && k == 0)) {
      if (own.span < 2) return {Kind::kOdd};  // of another example
      continue;
    }
    const auto factor = n.op->name == "Mul" ? known_number(graph_, n.inputs[1 - k]) : std::nullopt;
    if (!factor || *factor < 1 || own.span == 0) return {Kind::kOdd};
    place.span *= *factor;
  }
  return place;
}

// The same numbers, in another order or shape.
bool BatchPositions::passes_through(const Node& n) const {
  if (n.op->flow != Flow::kNone || is_tensor_array_op(n) || gives_parts(n)) return true;
  const BatchRule rule = rule_of(*n.op);
  return n.op->linear == Linear::kJointly && !n.op->elementwise && rule != BatchRule::kSum &&
         rule != BatchRule::kMean && conditions(graph_, n).empty();
}

BatchPositions::Position BatchPositions::find(const Node& n, NodeId id) const {
  if (n.output_dtypes.empty()) return {};
  switch (rule_of(*n.op)) {
    case BatchRule::kRowNumbers: return counted(n, id);
    case BatchRule::kUnique: return {};
    case BatchRule::kGather: return of(n.inputs[0]);
    case BatchRule::kRenumbers: return of(n.inputs[0]);
    default: break;
  }
  if (axes_.scales_with_batch({id, 0})) return {Kind::kCount};
  if (n.op->elementwise) return computed(n);
  if (!passes_through(n) || !is_integer(n.output_dtypes[0])) return {};
  Position most;
  for (const Endpoint e : n.inputs) {
    if (const Position own = of(e); own.kind > most.kind) most = own;
  }
  if (most.kind == Kind::kCount) return n.op->forwards ? most : Position{};
  return axes_.axis({id, 0}) != BatchAxes::kNone ? most : Position{};
}

bool BatchPositions::takes_along_batch(const Node& n) const {
  const Endpoint from = n.inputs[0];
  if (!has_rows(from)) return false;
  if (n.op->name == "GatherV2") return names_batch(graph_, axes_, n.inputs[2], from);
  if (n.op->name != "GatherNd") return axes_.axis(from) == 0;
  const PartialShape& by = graph_.shape(n.inputs[1]);
  return !by.has_rank() || by.rank() == 0 || by[by.rank() - 1] < 0 || axes_.axis(from) < by[by.rank() - 1];
}

// That of coordinates side by side which counts along this axis.
BatchPositions::Position BatchPositions::row_number(Endpoint indices, int axis) const {
  const PartialShape& shape = graph_.shape(indices);
  if (!shape.has_rank() || shape.rank() == 0) return {};
  const int last = shape.rank() - 1;
  if (shape[last] == 1) return of(indices);
  const Node& n = graph_.node(indices.node);
  const auto column = static_cast<std::size_t>(axis);
  if (is_one_of(n, {"Identity", "Cast"})) return row_number(n.inputs[0], axis);
  if (rule_of(*n.op) == BatchRule::kRowNumbers) {  // Where
    return indices.index == 0 && axes_.axis(n.inputs[0]) == axis ? of(indices) : Position{};
  }
  const bool packs = n.op->name == "Pack" && (n.attrs.get_int("axis") == last || n.attrs.get_int("axis") == -1);
  const auto along = n.op->name == "ConcatV2" ? known_number(graph_, n.inputs.back()) : std::nullopt;
  const bool joins = along && (*along == last || *along == -1);
  const std::size_t columns = n.inputs.size() - (joins ? 1 : 0);
  if ((!packs && !joins) || column >= columns || static_cast<std::int64_t>(columns) != shape[last]) return {};
  for (std::size_t k = 0; k < columns; ++k) {
    if (k != column && placed(n.inputs[k])) return {Kind::kOdd};
  }
  return of(n.inputs[column]);
}

bool BatchPositions::takes_own(const Node& n) const {
  const Position by = n.op->name == "GatherNd" ? row_number(n.inputs[1], axes_.axis(n.inputs[0])) : of(n.inputs[1]);
  return by.kind == Kind::kOwn && by.span > 0 && by.span == axes_.rows_per_example(n.inputs[0]) &&
         axes_.repeats(n.inputs[0]) == 1;
}

std::optional<std::string> BatchPositions::puts_others(const Node& n, NodeId id) {
  const Endpoint out{id, 0};
  if (axes_.axis(out) == BatchAxes::kNone) {
    // At places of a shard's own that others have, too.
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return placed(e); })
               ? std::optional<std::string>(kDepends)
               : std::nullopt;
  }
  std::size_t at = 0;
  for (const ArgDef& arg : n.op->input_args) {
    const auto count = arg.number_attr.empty() ? 1 : static_cast<std::size_t>(n.attrs.get_int(arg.number_attr));
    const bool says = arg.name.ends_with("indices") || arg.name.starts_with("segment_ids");
    for (std::size_t k = 0; k < count; ++k, ++at) {
      if (!says || !varies_(n.inputs[at])) continue;
      const Position place = of(n.inputs[at]);
      if (place.kind == Kind::kOwn && (!has_rows(out) || place.span == axes_.rows_per_example(out))) continue;
      return str_cat("puts rows of the batch where '", graph_.node(n.inputs[at].node).name,
                     "' says, which may be other examples'");
    }
  }
  return std::nullopt;
}

std::optional<std::string> BatchPositions::misuse(const Node& n, NodeId id) {
  if (n.output_dtypes.empty()) return std::nullopt;
  const auto is_placed = [&](Endpoint e) { return placed(e); };
  const BatchRule rule = rule_of(*n.op);
  if (rule == BatchRule::kScatter || rule == BatchRule::kScatterAdd) return puts_others(n, id);
  if (rule == BatchRule::kGather) {
    if (takes_along_batch(n)) {
      if (takes_own(n)) return std::nullopt;
      return str_cat("takes rows of the batch by '", graph_.node(n.inputs[1].node).name,
                     "', which may be other examples'");
    }
    const bool is_shard_local = varies_(n.inputs[0]) && axes_.axis(n.inputs[0]) == BatchAxes::kUnknown;
    if (is_shard_local && varies_(n.inputs[1]) && !placed(n.inputs[1])) {
      return str_cat("takes of what a shard has found by '", graph_.node(n.inputs[1].node).name, "'");
    }
    return placed(n.inputs[1]) && !is_shard_local ? std::optional<std::string>(kDepends) : std::nullopt;
  }
  if (std::none_of(n.inputs.begin(), n.inputs.end(), is_placed)) return std::nullopt;
  if (rule == BatchRule::kRenumbers || rule == BatchRule::kShapeOnly) return std::nullopt;
  if (n.op->elementwise) return computed(n).kind == Kind::kOdd ? std::optional<std::string>(kDepends) : std::nullopt;
  return passes_through(n) ? std::nullopt : std::optional<std::string>(kDepends);
}

}  // namespace argosy
