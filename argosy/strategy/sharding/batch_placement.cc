#include "argosy/strategy/sharding/batch_placement.h"

#include <algorithm>
#include <map>

#include "argosy/op/definition/batch_rule.h"
#include "argosy/strategy/sharding/batch_dim_ops.h"
#include "argosy/strategy/sharding/device_varying.h"

namespace argosy {

std::vector<Endpoint> data_inputs(const Node& n) {
  const auto& args = n.op->input_args;
  if (args.empty()) return {};
  // An op that changes the type (Cast) has no input of its output's.
  const std::string& type = n.op->output_args.empty() ? args[0].type_attr : n.op->output_args[0].type_attr;
  const bool there = std::any_of(args.begin(), args.end(), [&](const ArgDef& arg) { return arg.type_attr == type; });
  std::vector<Endpoint> data;
  std::size_t at = 0;
  for (const ArgDef& arg : args) {
    std::size_t count = 1;
    if (!arg.number_attr.empty()) count = static_cast<std::size_t>(n.attrs.get_int(arg.number_attr));
    if (!arg.type_list_attr.empty()) count = n.attrs.get<std::vector<DType>>(arg.type_list_attr).size();
    const bool is_data = arg.type_attr == (there ? type : args[0].type_attr);
    for (std::size_t k = 0; k < count && at < n.inputs.size(); ++k, ++at) {
      if (is_data) data.push_back(n.inputs[at]);
    }
  }
  return data;
}

std::vector<Endpoint> conditions(const Graph& graph, const Node& n) {
  std::vector<Endpoint> found;
  for (const Endpoint e : n.inputs) {
    if (graph.dtype(e) == DType::kBool) found.push_back(e);
  }
  return found;
}

bool is_zero(const Graph& graph, Endpoint e) {
  const Node& n = graph.node(e.node);
  if (n.op->name == "ZerosLike") return true;
  if (n.op->flow == Flow::kSwitch || n.op->flow == Flow::kEnter || n.op->name == "Identity") {
    return is_zero(graph, n.inputs[0]);
  }
  if (n.op->name == "Fill") return is_zero(graph, n.inputs[1]);
  const Tensor* const value = graph.constant(e);
  if (value == nullptr || value->dtype() == DType::kString) return false;
  const auto* const bytes = static_cast<const char*>(value->raw());
  return std::all_of(bytes, bytes + value->bytes(), [](char b) { return b == 0; });
}

bool is_part(const Graph& graph, const Node& n) {
  return n.op->name == "_ScaleNonempty" && graph.node(n.inputs[1].node).op->name == "_ShardWeight";
}

namespace {

BatchPlacement unknown(std::string why) { return {.kind = PlacementKind::kUnknown, .why = std::move(why)}; }

class Classifier {
 public:
  Classifier(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> global)
      : graph_(graph), axes_(axes), varies_(graph, axes, global) {}

  BatchPlacement visit(Endpoint e) const {
    if (!varies(e)) return {.kind = PlacementKind::kReplicate};
    if (axes_.scales_with_batch(e)) return {.kind = PlacementKind::kPartialSum};
    const int axis = axes_.axis(e);
    if (axis >= 0) return {.kind = PlacementKind::kShard, .axis = axis};
    const Node& n = graph_.node(e.node);
    const std::string what = str_cat("'", n.name, "' (", n.op->name, ")");
    if (axis == BatchAxes::kUnknown) return unknown(str_cat("the shape of ", what, " cannot be told"));
    if (axis == BatchAxes::kSeveral) return unknown(str_cat(what, " sets samples against samples"));
    if (n.op->flow == Flow::kSwitch && (in_loop(n) || !varies(n.inputs[1]))) return visit(n.inputs[0]);
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kExit || n.op->flow == Flow::kNextIteration) {
      return visit(n.inputs[0]);
    }
    if (e.index != 0) return unknown(str_cat(what, " is no sum over samples"));
    if (n.op->flow == Flow::kMerge) return is_loop_carried(n) ? carried(e.node, what) : merged(n, what);
    if (carries_batch(n)) return reduction(n, what);
    switch (n.op->linear) {
      case Linear::kJointly: return jointly(n, what);
      case Linear::kEach:
      case Linear::kFirst: return scaled(n, what);
      case Linear::kNo: break;
    }
    return unknown(str_cat(what, " is not linear"));
  }

 private:
  bool varies(Endpoint e) const { return varies_(e); }

  bool carries_batch(const Node& n) const {
    const auto data = data_inputs(n);
    return std::any_of(data.begin(), data.end(), [&](Endpoint e) { return axes_.axis(e) >= 0; });
  }

  bool in_loop(const Node& n) const { return graph_.node(n.inputs[1].node).op->flow == Flow::kLoopCond; }
  bool is_loop_carried(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](Endpoint e) { return graph_.node(e.node).op->flow == Flow::kNextIteration; });
  }

  // A loop-carried value starts as zero, and every iteration turns a sum into a sum, or a mean into a mean.
  BatchPlacement carried(NodeId merge, const std::string& what) const {
    if (const auto known = assumed_.find(merge); known != assumed_.end()) return {.kind = known->second};
    for (const PlacementKind kind : {PlacementKind::kPartialSum, PlacementKind::kPartialMean}) {
      assumed_[merge] = kind;
      const auto& inputs = graph_.node(merge).inputs;
      const bool holds = std::all_of(inputs.begin(), inputs.end(), [&](Endpoint e) {
        if (!varies(e)) return is_zero(graph_, e);
        const BatchPlacement c = visit(e);
        return c.kind == kind && c.once.empty();
      });
      assumed_.erase(merge);
      if (holds) return {.kind = kind};
    }
    return unknown(str_cat(what, " is carried round a loop in which it is no sum over samples"));
  }

  // One branch or the other: they must combine alike.
  BatchPlacement merged(const Node& n, const std::string& what) const {
    BatchPlacement found{.kind = PlacementKind::kReplicate};
    bool same = false;
    for (const Endpoint e : n.inputs) {
      const BatchPlacement c = visit(e);
      if (c.kind == PlacementKind::kUnknown) return c;
      same = same || (c.kind == PlacementKind::kReplicate && !is_zero(graph_, e));
      if (c.kind == PlacementKind::kReplicate) continue;
      if (!c.once.empty() ||
          (found.kind != PlacementKind::kReplicate && (c.kind != found.kind || c.weight != found.weight))) {
        return unknown(str_cat(what, " merges branches that combine in different ways"));
      }
      found = c;
    }
    if (same && found.kind != PlacementKind::kPartialMean)
      return unknown(str_cat(what, " merges what is a sum with what is not"));
    return found;
  }

  // The batch axis ends in this op.
  BatchPlacement reduction(const Node& n, const std::string& what) const {
    if (n.op->batch_rule == BatchRule::kMean) return {.kind = PlacementKind::kPartialMean};
    for (const Endpoint e : n.inputs) {
      if (is_floating(graph_.dtype(e)) && axes_.axis(e) == BatchAxes::kNone && varies(e)) {
        return unknown(str_cat(what, " computes with a number of several examples"));
      }
    }
    if (adds_up(*n.op)) return {.kind = PlacementKind::kPartialSum};
    return unknown(str_cat(what, " is neither a sum nor a mean over the batch"));
  }

  BatchPlacement jointly(const Node& n, const std::string& what) const {
    for (const Endpoint e : conditions(graph_, n)) {
      if (varies(e)) return unknown(str_cat(what, " chooses by what is in the batch"));
    }
    BatchPlacement found{.kind = PlacementKind::kReplicate};
    std::vector<Endpoint> once;
    for (const Endpoint e : data_inputs(n)) {
      BatchPlacement c = visit(e);
      if (c.kind == PlacementKind::kReplicate) {
        once.push_back(e);
        continue;
      }
      if (c.kind == PlacementKind::kUnknown) return c;
      if (found.kind != PlacementKind::kReplicate && (c.kind != found.kind || c.weight != found.weight)) {
        return unknown(str_cat(what, " adds terms that combine in different ways"));
      }
      c.once.insert(c.once.end(), found.once.begin(), found.once.end());
      found = std::move(c);
    }
    if (found.kind != PlacementKind::kPartialSum) return found;
    // Only plain additions keep a term as it is; a term with another sign or shape is not kept apart.
    const bool adds = n.op->name == "Add" || n.op->name == "AddV2" || n.op->name == "AddN";
    const bool keeps = data_inputs(n).size() == 1 && n.op->forwards;
    if (!once.empty() && !adds) return unknown(str_cat(what, " mixes a sum over samples with other terms"));
    if (!found.once.empty() && !adds && !keeps) return unknown(str_cat(what, " changes terms that count once"));
    found.once.insert(found.once.end(), once.begin(), once.end());
    return found;
  }

  BatchPlacement scaled(const Node& n, const std::string& what) const {
    const std::vector<Endpoint> data = data_inputs(n);
    // A shard's part of a mean, or of what all have: these add up.
    if (is_part(graph_, n)) {
      const PlacementKind kind = visit(data[0]).kind;
      if (kind == PlacementKind::kPartialMean || kind == PlacementKind::kReplicate)
        return {.kind = PlacementKind::kPartialSum};
    }
    std::vector<std::size_t> dependent;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (varies(data[i])) dependent.push_back(i);
    }
    const bool ratio = n.op->linear == Linear::kFirst && dependent == std::vector<std::size_t>{0, 1};
    if (ratio) {
      const BatchPlacement over = visit(data[0]), under = visit(data[1]);
      if (over.kind == PlacementKind::kPartialSum && under.kind == PlacementKind::kPartialSum && over.once.empty() &&
          under.once.empty()) {
        return {.kind = PlacementKind::kPartialWeighted, .weight = data[1]};
      }
    }
    if (dependent.size() != 1 || (n.op->linear == Linear::kFirst && dependent[0] != 0)) {
      return unknown(str_cat(what, " is no product of one sum over samples and constants"));
    }
    BatchPlacement c = visit(data[dependent[0]]);
    if (!c.once.empty()) return unknown(str_cat(what, " scales terms that count once"));
    return c;
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  mutable Varying varies_;
  mutable std::map<NodeId, PlacementKind> assumed_;  // of what loops carry, while it is looked at
};

class Terms {
 public:
  Terms(const Graph& graph, const BatchAxes& axes) : graph_(graph), axes_(axes) {}

  std::vector<Term> of(Endpoint sum) { return expand(sum, {}, 0) ? std::move(found_) : std::vector<Term>(); }

 private:
  bool expand(Endpoint e, NodeId taker, int input) {
    const BatchPlacement c = batch_placement_of(graph_, axes_, e);
    if (c.kind == PlacementKind::kReplicate) return true;
    const Node& n = graph_.node(e.node);
    const bool is_term =
        c.kind == PlacementKind::kPartialSum || c.kind == PlacementKind::kPartialWeighted ||
        (c.kind == PlacementKind::kPartialMean && n.op->name == "Mean" && axes_.axis(n.inputs[0]) >= 0);
    if (is_term) {
      found_.push_back({e, taker, input, c});
      return true;
    }
    if (c.kind == PlacementKind::kShard || n.op->linear == Linear::kNo || e.index != 0) return false;
    const std::vector<Endpoint> data = data_inputs(n);
    int dependent = 0;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) {
      const Endpoint from = n.inputs[static_cast<std::size_t>(i)];
      if (std::find(data.begin(), data.end(), from) == data.end() || !axes_.depends(from.node)) continue;
      if (n.op->linear == Linear::kFirst && i > 0) return false;
      if (!expand(from, e.node, i)) return false;
      ++dependent;
    }
    return dependent == 1 || n.op->linear == Linear::kJointly;
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  std::vector<Term> found_;
};

}  // namespace

std::vector<Term> terms_of(const Graph& graph, const BatchAxes& axes, Endpoint sum) {
  return Terms(graph, axes).of(sum);
}

BatchPlacement batch_placement_of(const Graph& graph, const BatchAxes& axes, Endpoint value,
                                  std::span<const Endpoint> global) {
  return Classifier(graph, axes, global).visit(value);
}

}  // namespace argosy
