#include "argosy/strategy/combination.h"

#include <algorithm>
#include <unordered_map>

namespace argosy {

namespace {

// The inputs that linearity speaks of: those of the first argument's type. Shapes, axes and indices are not among them.
std::vector<Endpoint> data_inputs(const Node& n) {
  std::vector<Endpoint> data;
  std::size_t at = 0;
  for (const ArgDef& arg : n.op->input_args) {
    std::size_t count = 1;
    if (!arg.number_attr.empty()) count = static_cast<std::size_t>(n.attrs.get_int(arg.number_attr));
    if (!arg.type_list_attr.empty()) count = n.attrs.get<std::vector<DType>>(arg.type_list_attr).size();
    const bool is_data = arg.type_attr == n.op->input_args[0].type_attr;
    for (std::size_t k = 0; k < count && at < n.inputs.size(); ++k, ++at) {
      if (is_data) data.push_back(n.inputs[at]);
    }
  }
  return data;
}

Combination unknown(std::string why) { return {.how = Combine::kUnknown, .why = std::move(why)}; }

class Classifier {
 public:
  Classifier(const Graph& graph, const BatchAxes& axes, std::span<const Endpoint> whole)
      : graph_(graph), axes_(axes), whole_(whole) {}

  Combination visit(Endpoint e) const {
    if (!varies(e)) return {.how = Combine::kSame};
    if (axes_.counts_samples(e)) return {.how = Combine::kSum};
    const int axis = axes_.axis(e);
    if (axis >= 0) return {.how = Combine::kConcat, .axis = axis};
    const Node& n = graph_.node(e.node);
    const std::string what = str_cat("'", n.name, "' (", n.op->name, ")");
    if (axis == BatchAxes::kUnknown) return unknown(str_cat("the shape of ", what, " cannot be told"));
    if (e.index != 0) return unknown(str_cat(what, " is no sum over samples"));
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
  bool varies(Endpoint e) const {
    return axes_.depends(e.node) && std::find(whole_.begin(), whole_.end(), e) == whole_.end();
  }

  bool carries_batch(const Node& n) const {
    const auto data = data_inputs(n);
    return std::any_of(data.begin(), data.end(), [&](Endpoint e) { return axes_.axis(e) >= 0; });
  }

  // The batch axis ends in this op.
  Combination reduction(const Node& n, const std::string& what) const {
    if (n.op->name == "Mean") return {.how = Combine::kMean};
    // A matrix product over the batch axis is a sum of products.
    if (n.op->name == "Sum" || n.op->name == "L2Loss" || n.op->linear == Linear::kEach) return {.how = Combine::kSum};
    return unknown(str_cat(what, " is neither a sum nor a mean over the batch"));
  }

  Combination jointly(const Node& n, const std::string& what) const {
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
  const std::span<const Endpoint> whole_;
};

class SumFinder {
 public:
  SumFinder(const Graph& graph, const BatchAxes& axes, bool sums_only)
      : graph_(graph), axes_(axes), sums_only_(sums_only) {}

  void visit(Endpoint e) {
    if (e.index < 0 || !axes_.depends(e.node) || axes_.axis(e) >= 0) return;
    if (std::find(seen_.begin(), seen_.end(), e) != seen_.end()) return;
    seen_.push_back(e);
    if (is_sum(e)) {
      sums.push_back(e);
      return;
    }
    for (const Endpoint from : graph_.node(e.node).inputs) visit(from);
  }

  std::vector<Endpoint> sums;

 private:
  // Linear, step by step, in values whose own ops took the batch axis away.
  bool is_sum(Endpoint e) {
    const auto [known, fresh] = is_sum_.try_emplace(e, false);
    if (fresh) {
      const bool answer = find_out(e);
      is_sum_[e] = answer;
      return answer;
    }
    return known->second;
  }

  bool find_out(Endpoint e) {
    const Node& n = graph_.node(e.node);
    if (axes_.counts_samples(e)) return true;
    // Integers that see the batch are sizes and positions more often than sums.
    if (!is_floating(graph_.dtype(e)) && !is_complex(graph_.dtype(e)) && n.op->name != "Sum") return false;
    const auto carries = [&](Endpoint from) { return axes_.axis(from) != BatchAxes::kNone; };
    if (std::any_of(n.inputs.begin(), n.inputs.end(), carries)) return true;
    if (n.op->linear == Linear::kNo || e.index != 0) return false;
    int dependent = 0;
    const std::vector<Endpoint> data = data_inputs(n);
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!axes_.depends(data[i].node)) {
        if (n.op->linear == Linear::kJointly && sums_only_) return false;
        continue;
      }
      if (n.op->linear == Linear::kFirst && i > 0) return false;
      if (!is_sum(data[i])) return false;
      ++dependent;
    }
    return dependent == 1 || (dependent > 1 && n.op->linear == Linear::kJointly);
  }

  const Graph& graph_;
  const BatchAxes& axes_;
  const bool sums_only_;
  std::vector<Endpoint> seen_;
  std::unordered_map<Endpoint, bool> is_sum_;
};

}  // namespace

Combination combination_of(const Graph& graph, const BatchAxes& axes, Endpoint value, std::span<const Endpoint> whole) {
  return Classifier(graph, axes, whole).visit(value);
}

std::vector<Endpoint> shard_sums(const Graph& graph, const BatchAxes& axes, Endpoint value, bool sums_only) {
  SumFinder finder(graph, axes, sums_only);
  finder.visit(value);
  return finder.sums;
}

}  // namespace argosy
