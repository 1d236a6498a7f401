#include "argosy/strategy/any_batch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/strategy/ancestors.h"
#include "argosy/strategy/mean_gradients.h"
#include "argosy/strategy/rebuilt.h"
#include "argosy/strategy/variables.h"

namespace argosy {

namespace {

// The other size: what Reshape may divide by goes into it.
constexpr std::int64_t kOther = 55440;

// Ops that are told the shape of what they give, and by which input.
struct Told {
  std::string_view op;
  int shape;
  int data;  // the input whose rows it has, or -1: none
};
constexpr Told kTold[] = {
    {"Reshape", 1, 0},
    {"BroadcastTo", 1, 0},
    {"Conv2DBackpropInput", 0, 2},
    {"Conv3DBackpropInputV2", 0, 2},
    {"DepthwiseConv2dNativeBackpropInput", 0, 2},
    {"AvgPoolGrad", 0, 1},
    {"AvgPool3DGrad", 0, 1},
    {"StridedSliceGrad", 0, 4},
    {"Fill", 0, -1},
    {"RandomUniform", 0, -1},
    {"RandomStandardNormal", 0, -1},
    {"TruncatedNormal", 0, -1},
    {"StatelessRandomUniform", 0, -1},
    {"StatelessRandomNormal", 0, -1},
    {"StatelessTruncatedNormal", 0, -1},
    {"StatelessRandomUniformV2", 0, -1},
    {"StatelessRandomNormalV2", 0, -1},
    {"StatelessTruncatedNormalV2", 0, -1},
};

const Told* told(const Node& n) {
  const auto* const found =
      std::find_if(std::begin(kTold), std::end(kTold), [&](const Told& t) { return t.op == n.op->name; });
  return found != std::end(kTold) ? found : nullptr;
}

std::int64_t elements(const PartialShape& shape, int begin, int end) {
  std::int64_t all = 1;
  for (int i = begin; i < end; ++i) all *= shape[i];
  return all;
}

class Opener {
 public:
  Opener(Graph& graph, std::vector<NodeId>& inputs, std::int64_t batch)
      : graph_(graph), inputs_(inputs), batch_(batch), containers_(graph), probe_(graph.ops()) {}

  Status run(const std::vector<NodeId>& roots, const std::vector<NodeId>& losses) {
    for (const auto& [name, function] : graph_.functions()) probe_.add_function(function);
    ARGOSY_ASSIGN_OR_RETURN(order_, containers_.order());
    ARGOSY_RETURN_IF_ERROR(find_loops());
    make_room();
    position_.resize(order_.size());
    for (std::size_t p = 0; p < order_.size(); ++p) position_[order_[p].index] = p;
    for (const NodeId id : inputs_) ARGOSY_RETURN_IF_ERROR(probe_input(id));
    const std::vector<char> used = ancestors(graph_, roots, true);
    for (std::size_t at = 0; at < order_.size();) {
      const NodeId id = order_[at];
      if (used[id.index] && is_stale(id)) ARGOSY_RETURN_IF_ERROR(visit(id));
      at = std::min(std::exchange(again_from_, kNowhere), at + 1);
    }
    ARGOSY_RETURN_IF_ERROR(follow_in_means(losses));
    open_shapes();
    return graph_.status();
  }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  // --- what is known -------------------------------------------------------------------------------------------------

  // Where the examples lie in an output; see BatchAxes.
  struct Rows {
    int axis = -1;
    std::int64_t before = 1, each = 0, rounds = 0;
  };
  struct Known {
    NodeId probe;
    std::int64_t changed = 0;  // when it was inferred last; 0: never
    bool edited = false;       // in the graph, since then
    bool input = false;
    SmallVector<Rows, 1> rows;
  };

  void make_room() { known_.resize(static_cast<std::size_t>(graph_.size())); }

  // What lies in loops, and shapes there, which an import leaves open.
  Status find_loops() {
    depth_.assign(static_cast<std::size_t>(graph_.size()), 0);
    bool any = false;
    for (const NodeId id : order_) {
      const Node& n = graph_.node(id);
      int& depth = depth_[static_cast<std::size_t>(id.index)];
      for (const Endpoint e : n.inputs) depth = std::max(depth, depth_of(e.node));
      for (const NodeId c : n.controls) depth = std::max(depth, depth_of(c));
      if (n.op->flow == Flow::kEnter) ++depth;
      if (n.op->flow == Flow::kExit) --depth;
      any = any || n.op->flow == Flow::kEnter;
      for (const Endpoint e : n.inputs) {
        if (graph_.node(e.node).op->flow == Flow::kNextIteration) carries_.emplace(e.node, id);
      }
    }
    if (!any) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Rebuilt now,
                            rebuild(graph_, containers_, order_, [](NodeId, NodeSpec&) { return ok_status(); }));
    for (const NodeId id : order_) {
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph_.node(id).output_dtypes.size()); ++i) {
        const PartialShape& shape = now.graph.shape({now.of[static_cast<std::size_t>(id.index)], i});
        if (shape.is_full()) graph_.refine_shape({id, i}, shape);
      }
    }
    return ok_status();
  }
  int depth_of(NodeId id) const {
    const auto i = static_cast<std::size_t>(id.index);
    return i < depth_.size() ? depth_[i] : 0;
  }
  Known& known(NodeId id) { return known_[static_cast<std::size_t>(id.index)]; }
  const Known& known(NodeId id) const { return known_[static_cast<std::size_t>(id.index)]; }
  Endpoint probe(Endpoint e) const { return {known(e.node).probe, e.index}; }
  bool was_seen(NodeId id) const { return known(id).changed != 0; }

  bool is_stale(NodeId id) const {
    const Known& k = known(id);
    if (k.input) return false;
    if (k.changed == 0 || k.edited) return true;
    const Node& n = graph_.node(id);
    const auto is_newer = [&](Endpoint e) { return !carries_.contains(e.node) && known(e.node).changed > k.changed; };
    if (std::any_of(n.inputs.begin(), n.inputs.end(), is_newer)) return true;
    const auto container = containers_.behind(n);
    if (!container) return false;
    const auto values = containers_.values(*container);
    return std::any_of(values.begin(), values.end(), [&](const auto& v) { return is_newer(v.from); });
  }

  const Rows& rows(Endpoint e) const { return known(e.node).rows[static_cast<std::size_t>(e.index)]; }
  bool follows(Endpoint e) const { return was_seen(e.node) && e.index >= 0 && rows(e).axis >= 0; }

  // The axis that has another length for the other batch; -1 none. Several, or lengths that are no multiples, fail.
  Result<Rows> find_rows(const Node& n, Endpoint e) const {
    const PartialShape &old = graph_.shape(e), &other = probe_.shape(probe(e));
    Rows found;
    if (!old.has_rank() || !other.has_rank() || old.rank() != other.rank()) return found;
    for (int i = 0; i < old.rank(); ++i) {
      if (old[i] < 0 || other[i] < 0 || old[i] == other[i]) continue;
      if (found.axis >= 0) return refuse(n, "sets examples beside examples");
      if (old[i] % batch_ != 0 || other[i] != old[i] / batch_ * kOther) return refuse(n, "cuts examples in pieces");
      found = {.axis = i, .before = elements(old, 0, i), .each = old[i] / batch_};
    }
    if (found.axis < 0) return found;
    ARGOSY_ASSIGN_OR_RETURN(found.rounds, find_rounds(n, found));
    return found;
  }

  // As BatchAxes::find_rounds().
  Result<std::int64_t> find_rounds(const Node& n, const Rows& output) const {
    std::int64_t rounds = 0;
    for (const Endpoint e : n.inputs) {
      if (!follows(e)) continue;
      const Rows& input = rows(e);
      if (n.op->forwards) {
        const std::int64_t all = input.before * input.rounds;
        if (input.rounds == 0) return std::int64_t{0};
        if (all % output.before != 0 || output.each % (all / output.before) != 0) {
          return refuse(n, "looks across examples");
        }
        return all / output.before;
      }
      if (input.each != output.each || (rounds != 0 && input.rounds != rounds)) return std::int64_t{0};
      rounds = input.rounds;
      if (rounds == 0) return rounds;
    }
    return rounds == 0 ? 1 : rounds;
  }

  Status refuse(const Node& n, std::string_view why) const {
    return invalid_argument("the graph is written for batches of ", batch_, ", and '", n.name, "' (", n.op->name, ") ",
                            why)
        .with_id("ARG-DP-010")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_next("tf.placeholder(dtype, [None, …]) for what brings the batch");
  }

  // --- inferring for the other batch ---------------------------------------------------------------------------------

  Status probe_input(NodeId id) {
    PartialShape::Sizes sizes = graph_.shape({id, 0}).sizes();
    sizes[0] = kOther;
    ARGOSY_ASSIGN_OR_RETURN(known(id).probe, probe_placeholder(graph_.dtype({id, 0}), PartialShape(std::move(sizes))));
    known(id).changed = ++time_;
    known(id).input = true;
    known(id).rows.assign(1, {.axis = 0, .each = 1, .rounds = 1});
    return ok_status();
  }

  Result<NodeId> probe_placeholder(DType dtype, PartialShape shape) {
    return probe_.add_node({.name = probe_.unique_name("any"),
                            .op = "Placeholder",
                            .attrs = {{"dtype", dtype}, {"shape", std::move(shape)}}});
  }

  NodeSpec probe_spec(NodeId id) {
    NodeSpec spec = copy_spec(graph_, id, containers_, probe_, [&](NodeId from) { return known(from).probe; });
    spec.name = probe_.unique_name(spec.name);
    return spec;
  }

  Status note(NodeId id, NodeId made) {
    Known& k = known(id);
    k.probe = made;
    const Node& n = graph_.node(id);
    k.rows.clear();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(n.output_dtypes.size()); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const Rows found, find_rows(n, {id, i}));
      k.rows.push_back(found);
    }
    k.changed = ++time_;
    k.edited = false;
    return ok_status();
  }

  Status visit(NodeId id) {
    for (int tries = 0; tries < 16; ++tries) {
      ARGOSY_RETURN_IF_ERROR(adapt(id));
      const auto made = probe_.add_node(probe_spec(id));
      if (made.ok()) {
        ARGOSY_RETURN_IF_ERROR(note(id, *made));
        return go_round(id);
      }
      ARGOSY_RETURN_IF_ERROR(make_inputs_follow(id));
      if (again_from_ != kNowhere) return ok_status();  // they come first, and this node after them
    }
    return refuse(graph_.node(id), "cannot be told to follow");
  }

  // What comes back follows where what enters does, and the other way round.
  Status go_round(NodeId id) {
    const auto found = carries_.find(id);
    if (found == carries_.end()) return ok_status();
    const Endpoint next{id, 0}, carried{found->second, 0};
    if (follows(next) == follows(carried)) return ok_status();
    const auto& [from, to] = follows(next) ? std::pair(next, carried) : std::pair(carried, next);
    return follow(to, rows(from).axis, id).status();
  }

  // Nodes that were added to the graph are inferred at once. In a loop, those that take nothing wait for `anchor`,
  // which is there: so they are in the loop, too.
  Result<Endpoint> added(Value v, NodeId anchor = {}) {
    if (!v.valid()) return graph_.status();
    const auto before = static_cast<std::int32_t>(known_.size());
    make_room();
    const int depth = anchor.index >= 0 ? depth_of(anchor) : 0;
    depth_.resize(known_.size(), depth);
    for (std::int32_t i = before; i < graph_.size(); ++i) {
      if (depth > 0 && graph_.node(NodeId{i}).inputs.empty()) graph_.add_control_input(NodeId{i}, anchor);
      ARGOSY_ASSIGN_OR_RETURN(const NodeId made, probe_.add_node(probe_spec(NodeId{i})));
      ARGOSY_RETURN_IF_ERROR(note(NodeId{i}, made));
    }
    return v.endpoint();
  }

  Value integers(DType dtype, const std::vector<std::int64_t>& values) {
    if (dtype == DType::kInt64) return constant(graph_, Tensor::vector(values));
    return constant(graph_, Tensor::vector(std::vector<std::int32_t>(values.begin(), values.end())));
  }

  // Something whose axis can be asked for how many examples there are: of the loop that `node` is in, what `taker` has
  // beside it, and what is not computed from the node.
  Result<Endpoint> with_examples(NodeId node, NodeId taker) const {
    if (depth_of(node) == 0) return Endpoint{inputs_[0], 0};
    for (const Endpoint e : graph_.node(taker).inputs) {
      const bool in_loop = follows(e) && depth_of(e.node) == depth_of(node) && rows(e).each == 1;
      if (in_loop && (node == taker || !comes_from(e.node, node))) return e;
    }
    return refuse(graph_.node(node), "stands in a loop in which the examples cannot be counted");
  }

  // In the same turn.
  bool comes_from(NodeId value, NodeId from) const {
    std::vector<char> seen(known_.size(), 0);
    std::vector<NodeId> open{value};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (id == from) return true;
      if (std::exchange(seen[static_cast<std::size_t>(id.index)], 1) || carries_.contains(id)) continue;
      for (const Endpoint e : graph_.node(id).inputs) open.push_back(e.node);
    }
    return false;
  }

  // How many examples there are, `each` times.
  Value count(Endpoint examples, DType dtype, std::int64_t each) {
    const Value many = index(shape(graph_.value(examples), dtype), {std::int64_t{rows(examples).axis}});
    return each == 1 ? many : many * constant_like(many, static_cast<double>(each));
  }

  // These integers, that of `axis` as often as there are examples.
  Value sizes(Endpoint examples, DType dtype, const std::vector<std::int64_t>& values, int axis) {
    std::vector<Value> parts;
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
      const std::int64_t own = values[static_cast<std::size_t>(i)];
      if (i == axis) {
        parts.push_back(count(examples, dtype, own / batch_));
      } else {
        parts.push_back(dtype == DType::kInt64 ? constant(graph_, own)
                                               : constant(graph_, static_cast<std::int32_t>(own)));
      }
    }
    return stack(parts);
  }

  // Nodes are named after the one they are for.
  Graph::Scope beside(NodeId id) { return graph_.name_scope(str_cat(graph_.node(id).name, "/any_batch")); }

  // The integers of an input that are the same for any batch; nothing where they follow it or are not known.
  std::optional<std::vector<std::int64_t>> fixed_integers(Endpoint e) const {
    if (!was_seen(e.node)) return std::nullopt;
    const PartialInts *const old = graph_.known_ints(e), *const other = probe_.known_ints(probe(e));
    if (old == nullptr || other == nullptr || *old != *other) return std::nullopt;
    std::vector<std::int64_t> values;
    for (const auto& v : *old) {
      if (!v) return std::nullopt;
      values.push_back(*v);
    }
    return values;
  }

  // --- shapes written down -------------------------------------------------------------------------------------------

  // Integers among its inputs that have to follow, since its data do.
  Status adapt(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.op->name == "Slice") return adapt_slice(id);
    if (n.op->name == "StridedSlice") return adapt_strided_slice(id);
    const Told* const t = told(n);
    if (t == nullptr || t->data < 0 || !follows(n.inputs[static_cast<std::size_t>(t->data)])) return ok_status();
    const auto values = fixed_integers(n.inputs[static_cast<std::size_t>(t->shape)]);
    const PartialShape& shape = graph_.shape({id, 0});
    if (!values || !shape.is_full() || shape.rank() != static_cast<int>(values->size())) return ok_status();
    const int axis = axis_told(n, *t, shape);
    if (axis < 0 || (*values)[static_cast<std::size_t>(axis)] < 0) return ok_status();
    return tell(id, t->shape, *values, axis);
  }

  // Which axis of what it gives the examples of its data are on.
  int axis_told(const Node& n, const Told& t, const PartialShape& shape) const {
    const Rows& data = rows(n.inputs[static_cast<std::size_t>(t.data)]);
    if (n.op->name == "BroadcastTo") {
      return data.axis + shape.rank() - graph_.shape(n.inputs[0]).rank();
    }
    if (n.op->name != "Reshape") return data.axis == 0 && shape[0] % batch_ == 0 ? 0 : -1;
    const std::int64_t all = data.before * data.rounds;
    std::int64_t before = 1;
    for (int i = 0; i < shape.rank(); before *= shape[i++]) {
      if (shape[i] == 0 || shape[i] % batch_ != 0 || all == 0 || all % before != 0) continue;
      if (shape[i] / batch_ % (all / before) == 0) return i;
    }
    return -1;
  }

  Status tell(NodeId id, int input, std::vector<std::int64_t> values, int axis) {
    const Node& n = graph_.node(id);
    const Endpoint old = n.inputs[static_cast<std::size_t>(input)];
    const DType dtype = graph_.dtype(old);
    const bool may_be_open = n.op->name == "Reshape" || n.op->name == "Slice";
    const auto scope = beside(id);
    Value told;
    if (may_be_open && std::find(values.begin(), values.end(), -1) == values.end()) {
      values[static_cast<std::size_t>(axis)] = -1;
      told = integers(dtype, values);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, with_examples(id, id));
      told = sizes(examples, dtype, values, axis);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, added(told, old.node));
    graph_.set_input(id, input, fresh);
    return ok_status();
  }

  // All rows of the batch, by their number.
  Status adapt_slice(NodeId id) {
    const Node& n = graph_.node(id);
    if (!follows(n.inputs[0])) return ok_status();
    const auto begin = fixed_integers(n.inputs[1]), size = fixed_integers(n.inputs[2]);
    const int axis = rows(n.inputs[0]).axis;
    const auto at = static_cast<std::size_t>(axis);
    if (!begin || !size || (*begin)[at] != 0 || (*size)[at] != graph_.shape(n.inputs[0])[axis]) return ok_status();
    return tell(id, 2, *size, axis);
  }

  Status adapt_strided_slice(NodeId id) {
    const Node& n = graph_.node(id);
    if (!follows(n.inputs[0]) || n.attrs.get_int("ellipsis_mask") != 0 || n.attrs.get_int("new_axis_mask") != 0) {
      return ok_status();
    }
    const auto end = fixed_integers(n.inputs[2]);
    const int axis = rows(n.inputs[0]).axis;
    const std::int64_t bit = std::int64_t{1} << axis, mask = n.attrs.get_int("end_mask");
    if (!end || axis >= static_cast<int>(end->size()) || (mask & bit) != 0) return ok_status();
    if ((*end)[static_cast<std::size_t>(axis)] < graph_.shape(n.inputs[0])[axis]) return ok_status();
    if ((n.attrs.get_int("shrink_axis_mask") & bit) == 0) graph_.set_attr(id, "end_mask", mask | bit);
    return ok_status();
  }

  // --- values that meet the batch ------------------------------------------------------------------------------------

  // The shapes do not fit: finds inputs that would if they followed, and makes them.
  Status make_inputs_follow(NodeId id) {
    const Node& n = graph_.node(id);
    std::vector<std::pair<int, int>> found = beside_the_batch(n, true);
    if (found.empty() || !would_fit(id, found)) found = beside_the_batch(n, false);
    if (found.empty() || !would_fit(id, found)) {
      const std::vector<std::pair<int, int>> all = could_follow(n);
      const auto one = std::find_if(all.begin(), all.end(), [&](const auto& each) { return would_fit(id, {each}); });
      if (one == all.end()) return refuse(n, "does not take another size");
      found = {*one};
    }
    for (const auto& [input, axis] : found) {
      const Endpoint old = graph_.node(id).inputs[static_cast<std::size_t>(input)];
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, follow(old, axis, id));
      if (fresh != old) graph_.set_input(id, input, fresh);
    }
    return ok_status();
  }

  // (input, axis) of those as long as the batch there, which is on the same axis, counted from the last or the first.
  std::vector<std::pair<int, int>> beside_the_batch(const Node& n, bool from_last) const {
    std::vector<std::pair<int, int>> found;
    const auto with = std::find_if(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return follows(e); });
    if (with == n.inputs.end()) return found;
    const int own = rows(*with).axis;
    const std::int64_t batch = graph_.shape(*with)[own];
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      const Endpoint e = n.inputs[static_cast<std::size_t>(i)];
      const PartialShape& shape = graph_.shape(e);
      const int axis = from_last ? own + shape.rank() - graph_.shape(*with).rank() : own;
      if (follows(e) || axis < 0 || axis >= shape.rank()) continue;
      if (shape[axis] == batch) found.emplace_back(i, axis);
    }
    return found;
  }

  std::vector<std::pair<int, int>> could_follow(const Node& n) const {
    std::vector<std::pair<int, int>> found;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      const Endpoint e = n.inputs[static_cast<std::size_t>(i)];
      const PartialShape& shape = graph_.shape(e);
      for (int axis = 0; !follows(e) && axis < shape.rank(); ++axis) {
        if (shape[axis] > 0 && shape[axis] % batch_ == 0) found.emplace_back(i, axis);
      }
    }
    return found;
  }

  bool would_fit(NodeId id, const std::vector<std::pair<int, int>>& following) {
    const Node& n = graph_.node(id);
    NodeSpec spec = probe_spec(id);
    for (const auto& [input, axis] : following) {
      const Endpoint e = n.inputs[static_cast<std::size_t>(input)];
      PartialShape::Sizes sizes = graph_.shape(e).sizes();
      sizes[static_cast<std::size_t>(axis)] = sizes[static_cast<std::size_t>(axis)] / batch_ * kOther;
      const auto made = probe_placeholder(graph_.dtype(e), PartialShape(std::move(sizes)));
      if (!made.ok()) return false;
      spec.inputs[static_cast<std::size_t>(input)] = {*made, 0};
    }
    return probe_.add_node(std::move(spec)).ok();
  }

  // What stands for the value, with as many rows on that axis as the batch has: itself, changed where it is made, or
  // another. `taker` has asked.
  Result<Endpoint> follow(Endpoint e, int axis, NodeId taker) {
    if (follows(e) && rows(e).axis == axis) return e;
    const NodeId id = e.node;
    const Node& n = graph_.node(id);
    const PartialShape shape = graph_.shape(e);
    if (axis >= shape.rank())
      return refuse(graph_.node(taker), str_cat("meets '", n.name, "', whose shape is not known"));
    const Told* const t = told(n);
    if (n.op->name == "Const") return follow_constant(e, axis, taker);
    if (t != nullptr && t->data < 0) return follow_told(e, t->shape, axis, taker);
    if (n.op->name == "Tile") return follow_told(e, 1, axis, taker);
    if (n.op->name == "BroadcastTo" && graph_.shape(n.inputs[0]).has_rank()) {
      const int own = axis - (shape.rank() - graph_.shape(n.inputs[0]).rank());
      if (own < 0 || graph_.shape(n.inputs[0])[own] == 1) return follow_told(e, 1, axis, taker);
      return follow_inputs(e, {{0, own}}, taker);
    }
    if (n.op->flow == Flow::kMerge) return follow_merge(e, axis, taker);
    if (n.op->flow != Flow::kNone) return follow_inputs(e, {{0, axis}}, taker);
    if (e.index == 0 && (n.op->forwards || n.op->name == "ExpandDims" || n.op->name == "Squeeze")) {
      if (const int own = same_axis(shape, axis, graph_.shape(n.inputs[0])); own >= 0) {
        return follow_inputs(e, {{0, own}}, taker);
      }
    }
    if (e.index == 0 && (n.op->elementwise || n.op->name == "ZerosLike" || n.op->name == "OnesLike")) {
      std::vector<std::pair<int, int>> own;
      for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
        const PartialShape& s = graph_.shape(n.inputs[static_cast<std::size_t>(i)]);
        const int at = s.has_rank() ? axis - (shape.rank() - s.rank()) : -1;
        if (at >= 0 && s[at] == shape[axis]) own.emplace_back(i, at);
      }
      return follow_inputs(e, own, taker);
    }
    return share(e, axis, taker);
  }

  // The axis with as many elements before it that the examples can be on: [batch, time] of [batch * time].
  int same_axis(const PartialShape& of, int axis, const PartialShape& in) const {
    if (!of.is_full() || !in.is_full()) return -1;
    const std::int64_t before = elements(of, 0, axis);
    for (int i = 0; i < in.rank(); ++i) {
      if (in[i] > 0 && in[i] % batch_ == 0 && elements(in, 0, i) == before) return i;
    }
    return -1;
  }

  Result<Endpoint> follow_inputs(Endpoint e, const std::vector<std::pair<int, int>>& inputs, NodeId taker) {
    if (inputs.empty()) return share(e, 0, taker);
    for (const auto& [input, axis] : inputs) {
      const Endpoint old = graph_.node(e.node).inputs[static_cast<std::size_t>(input)];
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, follow(old, axis, taker));
      if (fresh != old) graph_.set_input(e.node, input, fresh);
    }
    return edited(e);
  }

  // Whichever way it comes in; what a loop brings back is looked at when it does.
  Result<Endpoint> follow_merge(Endpoint e, int axis, NodeId taker) {
    std::vector<std::pair<int, int>> own;
    const Node& n = graph_.node(e.node);
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      if (!carries_.contains(n.inputs[static_cast<std::size_t>(i)].node)) own.emplace_back(i, axis);
    }
    return follow_inputs(e, own, taker);
  }

  Result<Endpoint> follow_told(Endpoint e, int input, int axis, NodeId taker) {
    const Node& n = graph_.node(e.node);
    const Endpoint old = n.inputs[static_cast<std::size_t>(input)];
    const auto values = fixed_integers(old);
    if (!values || (*values)[static_cast<std::size_t>(axis)] % batch_ != 0) return share(e, axis, taker);
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, with_examples(e.node, taker));
    const auto scope = beside(e.node);
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh,
                            added(sizes(examples, graph_.dtype(old), *values, axis), examples.node));
    graph_.set_input(e.node, input, fresh);
    return edited(e);
  }

  Endpoint edited(Endpoint e) {
    known(e.node).edited = true;
    // Nodes added here come after all others, and are made as they have to be.
    if (static_cast<std::size_t>(e.node.index) < position_.size()) {
      again_from_ = std::min(again_from_, position_[static_cast<std::size_t>(e.node.index)]);
    }
    return e;
  }

  // All elements alike: of any size.
  Result<Endpoint> follow_constant(Endpoint e, int axis, NodeId taker) {
    const Tensor* const value = graph_.constant(e);
    const Shape& shape = value->shape();
    const std::size_t each = value->dtype() == DType::kString ? 0 : element_bytes(value->dtype());
    const auto* const bytes = static_cast<const char*>(value->raw());
    const std::size_t all = each * static_cast<std::size_t>(shape.elements());
    if (each == 0 || all == 0 || !std::equal(bytes + each, bytes + all, bytes)) return share(e, axis, taker);
    std::vector<std::int64_t> values;
    for (int i = 0; i < shape.rank(); ++i) values.push_back(shape[i]);
    Tensor one = Tensor::zeros(value->dtype(), Shape());
    std::copy(bytes, bytes + each, static_cast<char*>(one.raw()));
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint examples, with_examples(e.node, taker));
    const auto scope = beside(e.node);
    const Value dims = sizes(examples, DType::kInt32, values, axis);
    return added(graph_.add("Fill", {dims, constant(graph_, std::move(one))}), examples.node);
  }

  // The same in every step, or drawn: shared out as what is fed is. Integers may number rows, which a share counts
  // anew.
  Result<Endpoint> share(Endpoint e, int axis, NodeId taker) {
    const auto is_own = [&](const Node& n) {
      return n.op->name.starts_with("Placeholder") || n.op->name == "_Arg" || is_variable(n) ||
             n.op->flow != Flow::kNone || n.op->calls != Calls::kNothing ||
             std::string_view(n.name).find("grad_ys") != std::string_view::npos;
    };
    const std::vector<char> from = ancestors(graph_, {e.node}, false);
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!from[i] || !is_own(n)) continue;
      return refuse(graph_.node(taker), str_cat("meets '", n.name, "', whose size cannot follow"));
    }
    const DType dtype = graph_.dtype(e);
    const PartialShape& shape = graph_.shape(e);
    if (depth_of(e.node) > 0 || axis != 0 || shape[0] != batch_ ||
        !(is_floating(dtype) || is_complex(dtype) || dtype == DType::kBool)) {
      return refuse(graph_.node(taker), str_cat("meets '", graph_.node(e.node).name, "', whose size cannot follow"));
    }
    const auto scope = beside(e.node);
    const Value shared = placeholder_with_default(graph_.value(e), shape);
    if (!shared.valid()) return graph_.status();
    make_room();
    ARGOSY_RETURN_IF_ERROR(probe_input(shared.node()));
    inputs_.push_back(shared.node());
    return shared.endpoint();
  }

  // --- means ---------------------------------------------------------------------------------------------------------

  // Who makes gradients divides that of a mean by a constant, where it is known how many are averaged.
  Status follow_in_means(const std::vector<NodeId>& losses) {
    const auto divisions = divisions_of_means(graph_);
    for (const auto& [mean, nodes] : divisions) {
      if (!averages_examples(mean)) continue;
      for (const NodeId id : nodes) {
        const bool written = was_seen(id) && is_written(graph_.node(id).inputs[1]);  // else it is counted
        if (written) ARGOSY_RETURN_IF_ERROR(divide_by_count(id, mean));
      }
    }
    const std::vector<char> differentiated = on_gradient_paths(graph_, order_, losses);
    for (const NodeId id : order_) {
      if (differentiated[id.index] && averages_examples(id) && !divisions.contains(id)) {
        return refuse(graph_.node(id), "has a gradient that cannot be found");
      }
    }
    return ok_status();
  }

  Status divide_by_count(NodeId id, NodeId mean) {
    const Node& n = graph_.node(id);
    const PartialShape &from = graph_.shape(graph_.node(mean).inputs[0]), &to = graph_.shape({mean, 0});
    const std::int64_t each = from.is_full() && to.is_full() && to.elements() > 0 ? from.elements() / to.elements() : 0;
    if (each == 0 || each % batch_ != 0 || depth_of(id) > 0)
      return refuse(n, "divides by a number that cannot be told");
    const auto scope = beside(id);
    const Value many = cast(count({inputs_[0], 0}, DType::kInt32, each / batch_), graph_.dtype(n.inputs[1]));
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint fresh, added(many));
    graph_.set_input(id, 1, fresh);
    return ok_status();
  }

  bool averages_examples(NodeId id) const {
    const Node& n = graph_.node(id);
    return n.op->name == "Mean" && was_seen(id) && follows(n.inputs[0]) && !follows({id, 0});
  }

  // A constant, as one reads it in a graph.
  bool is_written(Endpoint e) const {
    while (graph_.node(e.node).op->name == "Cast") e = graph_.node(e.node).inputs[0];
    return graph_.constant(e) != nullptr;
  }

  // --- the end -------------------------------------------------------------------------------------------------------

  void open_shapes() {
    for (std::size_t i = 0; i < position_.size(); ++i) open_elements(NodeId{static_cast<std::int32_t>(i)});
    for (const NodeId id : inputs_) {
      PartialShape::Sizes sizes = graph_.shape({id, 0}).sizes();
      sizes[0] = -1;
      graph_.set_attr(id, "shape", PartialShape(std::move(sizes)));
    }
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Known& k = known(NodeId{i});
      for (std::int32_t o = 0; o < static_cast<std::int32_t>(k.rows.size()); ++o) {
        const Endpoint e{NodeId{i}, o};
        if (!follows(e)) continue;
        PartialShape::Sizes sizes = graph_.shape(e).sizes();
        sizes[static_cast<std::size_t>(rows(e).axis)] = -1;
        graph_.refine_shape(e, PartialShape(std::move(sizes)));
      }
    }
  }

  // Arrays are told what their elements look like.
  void open_elements(NodeId id) {
    const Node& n = graph_.node(id);
    const auto* const told = is_container_op(n) ? n.attrs.find_as<PartialShape>("element_shape") : nullptr;
    if (told == nullptr || !told->has_rank()) return;
    PartialShape::Sizes sizes = told->sizes();
    for (const Containers::Value& v : containers_.values(containers_.behind(n).value_or(id))) {
      const int axis = follows(v.from) ? rows(v.from).axis - (v.all ? 1 : 0) : -1;
      if (axis >= 0 && axis < told->rank()) sizes[static_cast<std::size_t>(axis)] = -1;
    }
    graph_.set_attr(id, "element_shape", PartialShape(std::move(sizes)));
  }

  Graph& graph_;
  std::vector<NodeId>& inputs_;
  const std::int64_t batch_;
  const Containers containers_;
  std::map<NodeId, NodeId> carries_;   // by NextIteration: the Merge that it goes to
  std::vector<int> depth_;             // by node: in so many loops
  Graph probe_;                        // the same nodes for the other batch; some many times, the last counts
  std::vector<Known> known_;           // by node
  std::vector<NodeId> order_;          // of the nodes that were there
  std::vector<std::size_t> position_;  // by node
  std::size_t again_from_ = kNowhere;  // where something was edited
  std::int64_t time_ = 0;
};

}  // namespace

Status open_batch_size(Graph& graph, std::vector<NodeId>& inputs, const std::vector<NodeId>& roots,
                       const std::vector<NodeId>& losses) {
  std::optional<NodeId> first;
  for (const NodeId id : inputs) {
    const PartialShape& shape = graph.shape({id, 0});
    if (!shape.has_rank() || shape.rank() == 0 || shape[0] < 0) return ok_status();
    if (!first) first = id;
    if (shape[0] != graph.shape({*first, 0})[0]) {
      return invalid_argument("'", graph.node(*first).name, "' brings a batch of ", graph.shape({*first, 0})[0],
                              " and '", graph.node(id).name, "' one of ", shape[0])
          .with_id("ARG-DP-010");
    }
  }
  if (!first) return ok_status();
  const std::int64_t batch = graph.shape({*first, 0})[0];
  if (batch < 2) {
    return invalid_argument("a batch of ", batch, " cannot be shared").with_id("ARG-DP-010");
  }
  return Opener(graph, inputs, batch).run(roots, losses);
}

}  // namespace argosy
