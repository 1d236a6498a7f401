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
  return n.op->name == "_ScaleOrZero" && graph.node(n.inputs[1].node).op->name == "_BatchFactor";
}

namespace {

Combination unknown(std::string why) { return {.how = Combine::kUnknown, .why = std::move(why)}; }

class Classifier {
 public:
  Classifier(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> whole)
      : graph_(graph), axes_(axes), varies_(graph, axes, whole) {}

  Combination visit(Endpoint e) const {
    if (!varies(e)) return {.how = Combine::kSame};
    if (axes_.counts_samples(e)) return {.how = Combine::kSum};
    const int axis = axes_.axis(e);
    if (axis >= 0) return {.how = Combine::kConcat, .axis = axis};
    const Node& n = graph_.node(e.node);
    const std::string what = str_cat("'", n.name, "' (", n.op->name, ")");
    if (axis == BatchAxes::kUnknown) return unknown(str_cat("the shape of ", what, " cannot be told"));
    if (axis == BatchAxes::kSeveral) return unknown(str_cat(what, " sets samples beside samples"));
    if (n.op->flow == Flow::kSwitch && (in_loop(n) || !varies(n.inputs[1]))) return visit(n.inputs[0]);
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kExit || n.op->flow == Flow::kNextIteration) {
      return visit(n.inputs[0]);
    }
    if (e.index != 0) return unknown(str_cat(what, " is no sum over samples"));
    if (n.op->flow == Flow::kMerge) return goes_round(n) ? carried(e.node, what) : merged(n, what);
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
  bool goes_round(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(),
                       [&](Endpoint e) { return graph_.node(e.node).op->flow == Flow::kNextIteration; });
  }

  // What a loop carries starts as nothing, and every turn makes a sum of a sum, or a mean of a mean.
  Combination carried(NodeId merge, const std::string& what) const {
    if (const auto known = assumed_.find(merge); known != assumed_.end()) return {.how = known->second};
    for (const Combine how : {Combine::kSum, Combine::kMean}) {
      assumed_[merge] = how;
      const auto& inputs = graph_.node(merge).inputs;
      const bool holds = std::all_of(inputs.begin(), inputs.end(), [&](Endpoint e) {
        if (!varies(e)) return is_zero(graph_, e);
        const Combination c = visit(e);
        return c.how == how && c.once.empty();
      });
      assumed_.erase(merge);
      if (holds) return {.how = how};
    }
    return unknown(str_cat(what, " is carried round a loop in which it is no sum over samples"));
  }

  // One branch or the other: they must combine alike.
  Combination merged(const Node& n, const std::string& what) const {
    Combination found{.how = Combine::kSame};
    bool same = false;
    for (const Endpoint e : n.inputs) {
      const Combination c = visit(e);
      if (c.how == Combine::kUnknown) return c;
      same = same || (c.how == Combine::kSame && !is_zero(graph_, e));
      if (c.how == Combine::kSame) continue;
      if (!c.once.empty() || (found.how != Combine::kSame && (c.how != found.how || c.weight != found.weight))) {
        return unknown(str_cat(what, " merges branches that combine in different ways"));
      }
      found = c;
    }
    if (same && found.how != Combine::kMean) return unknown(str_cat(what, " merges what is a sum with what is not"));
    return found;
  }

  // The batch axis ends in this op.
  Combination reduction(const Node& n, const std::string& what) const {
    if (n.op->batch_rule == BatchRule::kAverages) return {.how = Combine::kMean};
    for (const Endpoint e : n.inputs) {
      if (is_floating(graph_.dtype(e)) && axes_.axis(e) == BatchAxes::kNone && varies(e)) {
        return unknown(str_cat(what, " computes with a number of several examples"));
      }
    }
    if (adds_up(*n.op)) return {.how = Combine::kSum};
    return unknown(str_cat(what, " is neither a sum nor a mean over the batch"));
  }

  Combination jointly(const Node& n, const std::string& what) const {
    for (const Endpoint e : conditions(graph_, n)) {
      if (varies(e)) return unknown(str_cat(what, " chooses by what is in the batch"));
    }
    Combination found{.how = Combine::kSame};
    std::vector<Endpoint> once;
    for (const Endpoint e : data_inputs(n)) {
      Combination c = visit(e);
      if (c.how == Combine::kSame) {
        once.push_back(e);
        continue;
      }
      if (c.how == Combine::kUnknown) return c;
      if (found.how != Combine::kSame && (c.how != found.how || c.weight != found.weight)) {
        return unknown(str_cat(what, " adds terms that combine in different ways"));
      }
      c.once.insert(c.once.end(), found.once.begin(), found.once.end());
      found = std::move(c);
    }
    if (found.how != Combine::kSum) return found;
    // Only plain additions keep a term as it is; a term that changes its sign or shape is not told apart.
    const bool adds = n.op->name == "Add" || n.op->name == "AddV2" || n.op->name == "AddN";
    const bool keeps = data_inputs(n).size() == 1 && n.op->forwards;
    if (!once.empty() && !adds) return unknown(str_cat(what, " mixes a sum over samples with other terms"));
    if (!found.once.empty() && !adds && !keeps) return unknown(str_cat(what, " changes terms that count once"));
    found.once.insert(found.once.end(), once.begin(), once.end());
    return found;
  }

  Combination scaled(const Node& n, const std::string& what) const {
    const std::vector<Endpoint> data = data_inputs(n);
    // A share's part of a mean, or of what all have: these add up.
    if (is_part(graph_, n)) {
      const Combine how = visit(data[0]).how;
      if (how == Combine::kMean || how == Combine::kSame) return {.how = Combine::kSum};
    }
    std::vector<std::size_t> dependent;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (varies(data[i])) dependent.push_back(i);
    }
    const bool ratio = n.op->linear == Linear::kFirst && dependent == std::vector<std::size_t>{0, 1};
    if (ratio) {
      const Combination over = visit(data[0]), under = visit(data[1]);
      if (over.how == Combine::kSum && under.how == Combine::kSum && over.once.empty() && under.once.empty()) {
        return {.how = Combine::kWeighted, .weight = data[1]};
      }
    }
    if (dependent.size() != 1 || (n.op->linear == Linear::kFirst && dependent[0] != 0)) {
      return unknown(str_cat(what, " is no product of one sum over samples and constants"));
    }
    Combination c = visit(data[dependent[0]]);
    if (!c.once.empty()) return unknown(str_cat(what, " scales terms that count once"));
    return c;
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  mutable Varying varies_;
  mutable std::map<NodeId, Combine> assumed_;  // of what loops carry, while it is looked at
};

class Terms {
 public:
  Terms(const Graph& graph, const BatchAxes& axes) : graph_(graph), axes_(axes) {}

  std::vector<Term> of(Endpoint sum) { return expand(sum, {}, 0) ? std::move(found_) : std::vector<Term>(); }

 private:
  bool expand(Endpoint e, NodeId taker, int input) {
    const Combination c = combination_of(graph_, axes_, e);
    if (c.how == Combine::kSame) return true;
    const Node& n = graph_.node(e.node);
    const bool is_term = c.how == Combine::kSum || c.how == Combine::kWeighted ||
                         (c.how == Combine::kMean && n.op->name == "Mean" && axes_.axis(n.inputs[0]) >= 0);
    if (is_term) {
      found_.push_back({e, taker, input, c});
      return true;
    }
    if (c.how == Combine::kConcat || n.op->linear == Linear::kNo || e.index != 0) return false;
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

Combination combination_of(const Graph& graph, const BatchAxes& axes, Endpoint value, std::span<const Endpoint> whole) {
  return Classifier(graph, axes, whole).visit(value);
}

}  // namespace argosy
