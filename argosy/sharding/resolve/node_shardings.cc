#include "argosy/sharding/resolve/node_shardings.h"

#include <algorithm>
#include <optional>

#include "argosy/sharding/rules/candidates.h"
#include "argosy/sharding/rules/rule_table.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

// A factor, and how it is cut.
struct CutFactor {
  int factor = -1;
  std::int64_t rounds = 1, unit = 1;
  friend bool operator==(const CutFactor&, const CutFactor&) = default;
};

class Lister {
 public:
  Lister(const ShardingsRequest& request, std::vector<Choice>& shardings)
      : r_(request), rule_(*request.rule), shardings_(shardings) {}

  void list() {
    if (passes_on(*r_.op)) return pass_on();
    whole();
    if (rule_.kind != ShardingRule::Kind::kFactors) return local();
    for (const CutFactor& cut : cuts()) along(cut);
    if (!rule_.updates.empty()) return;  // the new value of a variable is never partial
    for (std::size_t g = 0; g < rule_.linear.size(); ++g) linear(static_cast<int>(g));
    for (const int i : rule_.monotone) {
      if (is_partial(i) && in(i).combine != Combine::kSum) partial({NodeSharding::Kind::kMonotone, i}, {i}, in(i));
    }
    local();
  }

 private:
  const Placement& in(int i) const { return r_.inputs[static_cast<std::size_t>(i)]; }
  bool is_partial(int i) const { return r_.known[static_cast<std::size_t>(i)] != 0 && in(i).is_partial(); }
  int inputs() const { return static_cast<int>(r_.inputs.size()); }
  int outputs() const { return static_cast<int>(r_.wishes.size()); }
  const OperandRule& input_rule(int i) const { return rule_.inputs[static_cast<std::size_t>(i)]; }

  // Returns the placement that an input needs if it has no sharded dimension: replicated. An input of which only the
  // shape is read keeps its placement, since shapes are global.
  Placement plain(int i) const {
    const bool shape_only = rule_.kind == ShardingRule::Kind::kFactors && input_rule(i).kind == Kind::kShapeOnly;
    const bool has_shape = in(i).is_replicate() || in(i).is_shard() || in(i).is_partial();
    if (shape_only && has_shape) return in(i);
    const bool unread = std::find(rule_.unread.begin(), rule_.unread.end(), i) != rule_.unread.end();
    return unread && in(i).is_partial() ? in(i) : Placement::replicate();
  }
  // Like plain(), but keeps a shard's own statistics as they are, and their gradients (LocalStatistics::gradients).
  Placement own(int i) const {
    const bool sum = r_.takes_own && is_partial(i) && in(i).combine == Combine::kSum && may_be_own(r_.inputs, i);
    return r_.known[static_cast<std::size_t>(i)] != 0 && (in(i).is_local() || sum) ? Placement::local() : plain(i);
  }

  void pass_on() {
    std::vector<Placement> kinds = {Placement::replicate()};
    for (int i = 0; i < inputs(); ++i) {
      if (!is_passed_on(*r_.op, i) || r_.known[static_cast<std::size_t>(i)] == 0) continue;
      // All devices go the same way, with values of their own.
      if (!in(i).is_shard() && !in(i).is_partial() && !in(i).is_local()) continue;
      if (std::find(kinds.begin(), kinds.end(), in(i)) == kinds.end()) kinds.push_back(in(i));
    }
    // Nothing is resharded behind the end of an iteration: it gives what its loop holds.
    if (r_.op->flow == Flow::kNextIteration && r_.wishes[0].is_shard()) kinds.push_back(r_.wishes[0]);
    for (const Placement& p : kinds) {
      Choice& c = shardings_.emplace_back(Choice{.sharding = {NodeSharding::Kind::kPass}});
      for (int i = 0; i < inputs(); ++i) c.inputs.push_back(is_passed_on(*r_.op, i) ? p : Placement::replicate());
      for (int k = 0; k < outputs(); ++k) {  // the second output of a Merge says which input came
        c.outputs.push_back(r_.op->flow == Flow::kMerge && k > 0 ? Placement::replicate() : p);
      }
    }
  }

  void whole() {
    const bool once = rule_.kind == ShardingRule::Kind::kOnce || r_.is_random;
    Choice& c =
        shardings_.emplace_back(Choice{.sharding = {once ? NodeSharding::Kind::kOnce : NodeSharding::Kind::kWhole}});
    for (int i = 0; i < inputs(); ++i) {
      c.inputs.push_back(once && in(i).kind == Placement::Kind::kOnce ? in(i) : plain(i));
    }
    for (int k = 0; k < outputs(); ++k) c.outputs.push_back(once ? Placement::once() : Placement::replicate());
  }

  void local() {
    bool any = false;
    for (int i = 0; i < inputs(); ++i) any = any || (r_.known[static_cast<std::size_t>(i)] != 0 && in(i).is_local());
    const bool may = rule_.updates.empty() && !rule_.draws && !r_.is_random && rule_.kind != ShardingRule::Kind::kOnce;
    if (!any || !may) return;
    Choice& c = shardings_.emplace_back(Choice{.sharding = {NodeSharding::Kind::kLocal}});
    for (int i = 0; i < inputs(); ++i) c.inputs.push_back(own(i));
    for (int k = 0; k < outputs(); ++k) {
      const bool equal =
          rule_.kind == ShardingRule::Kind::kFactors && rule_.outputs[static_cast<std::size_t>(k)].kind == Kind::kEqual;
      c.outputs.push_back(equal ? Placement::replicate() : Placement::local());
    }
  }

  // --- factors
  // Returns the products of the sizes of a dimension's factors before and after position `at`; nullopt: one is not
  // known.
  std::optional<std::pair<std::int64_t, std::int64_t>> around(const FactorsOfDim& dim, std::size_t at) const {
    std::int64_t outer = 1, inner = 1;
    for (std::size_t k = 0; k < dim.size(); ++k) {
      const std::int64_t size = rule_.factors[static_cast<std::size_t>(dim[k])].size;
      if (k == at) continue;
      if (size <= 0) return std::nullopt;
      (k < at ? outer : inner) *= size;
    }
    return std::pair(outer, inner);
  }

  // Returns the factor along which the operand is sharded, if its placement is `p`, and how the factor is cut.
  std::optional<CutFactor> cut_of(const OperandRule& o, const Placement& p) const {
    if (o.kind != Kind::kDims || p.dim < 0 || p.dim >= std::ssize(o.dims)) return std::nullopt;
    const FactorsOfDim& dim = o.dims[static_cast<std::size_t>(p.dim)];
    for (std::size_t k = 0; k < dim.size(); ++k) {
      const auto sizes = around(dim, k);
      if (!sizes || p.rounds % sizes->first != 0 || p.unit % sizes->second != 0) continue;
      const CutFactor cut{dim[k], p.rounds / sizes->first, p.unit / sizes->second};
      const std::int64_t size = rule_.factors[static_cast<std::size_t>(dim[k])].size;
      const std::int64_t together = cut.rounds * cut.unit;
      if (size > 1 && (size % together != 0 || size == together)) continue;
      return cut;
    }
    return std::nullopt;
  }

  std::vector<CutFactor> cuts() const {
    std::vector<CutFactor> all;
    const auto add = [&](const OperandRule& o, const Placement& p) {
      if (!p.is_shard()) return;
      const auto cut = cut_of(o, p);
      const bool may = cut && (can_shard(rule_, cut->factor) || may_be_local(cut->factor));
      if (may && std::find(all.begin(), all.end(), *cut) == all.end()) {
        all.push_back(*cut);
      }
    };
    for (int i = 0; i < inputs(); ++i) {
      if (r_.known[static_cast<std::size_t>(i)] != 0) add(input_rule(i), in(i));
    }
    for (int k = 0; k < outputs(); ++k) {
      add(rule_.outputs[static_cast<std::size_t>(k)], r_.wishes[static_cast<std::size_t>(k)]);
    }
    std::sort(all.begin(), all.end(), [](const CutFactor& a, const CutFactor& b) {
      return std::tie(a.factor, a.rounds, a.unit) < std::tie(b.factor, b.rounds, b.unit);
    });
    return all;
  }

  // Returns the placement of an operand that is sharded along the factor; R: it does not have the factor. nullopt:
  // sizes of other factors in the same dimension are not known, or depend on the batch.
  std::optional<Placement> place(const OperandRule& o, const CutFactor& cut) const {
    for (std::size_t d = 0; o.kind == Kind::kDims && d < o.dims.size(); ++d) {
      for (std::size_t k = 0; k < o.dims[d].size(); ++k) {
        if (o.dims[d][k] != cut.factor) continue;
        const auto sizes = around(o.dims[d], k);
        if (!sizes) return std::nullopt;
        const std::int64_t rounds = sizes->first * cut.rounds, unit = sizes->second * cut.unit;
        if (r_.limit > 0 && (rounds >= r_.limit || unit >= r_.limit)) return std::nullopt;
        return Placement::shard(static_cast<int>(d), rounds, unit);
      }
    }
    return Placement::replicate();
  }

  void along(const CutFactor& cut) {
    Choice c{.sharding = {NodeSharding::Kind::kFactor, cut.factor, cut.rounds, cut.unit}};
    for (int i = 0; i < inputs(); ++i) {
      const auto p = place(input_rule(i), cut);
      if (!p) return;
      if (input_rule(i).kind == Kind::kScratch) {
        c.inputs.push_back(Placement::varying());
      } else {
        c.inputs.push_back(p->is_shard() ? *p : own(i));
      }
    }
    for (const OperandRule& o : rule_.outputs) {
      const auto p = place(o, cut);
      if (!p) return;
      if (p->is_shard() || o.kind == Kind::kEqual) {
        c.outputs.push_back(*p);
      } else if (o.kind == Kind::kOpaque) {
        c.outputs.push_back(Placement::varying());
      } else if (const auto partial = without(cut.factor)) {
        c.outputs.push_back(*partial);
      } else {
        return;
      }
    }
    shardings_.push_back(std::move(c));
  }

  // True if the op may use a shard's own statistics along this factor, and the request asks for it.
  bool may_be_local(int factor) const {
    const auto& may = rule_.may_be_local;
    return r_.keeps_local && std::find(may.begin(), may.end(), static_cast<std::int8_t>(factor)) != may.end();
  }

  // Returns the placement of an output that lacks the factor; nullopt: the factor's role does not allow one.
  std::optional<Placement> without(int factor) const {
    if (may_be_local(factor)) return rule_.linear.empty() ? Placement::local() : Placement::partial(Combine::kSum);
    switch (rule_.factors[static_cast<std::size_t>(factor)].role) {
      case FactorRole::kMean:
        if (r_.keeps_local) return Placement::local();
        [[fallthrough]];
      case FactorRole::kSum: return Placement::partial(Combine::kSum);
      case FactorRole::kMax: return Placement::partial(Combine::kMax);
      case FactorRole::kMin: return Placement::partial(Combine::kMin);
      case FactorRole::kEqual: return Placement::replicate();
      default: return std::nullopt;
    }
  }

  // --- partial inputs
  void linear(int group) {
    const auto& members = rule_.linear[static_cast<std::size_t>(group)];
    const Placement sum = Placement::partial(Combine::kSum);
    const bool any = std::any_of(members.begin(), members.end(), [&](int i) { return is_partial(i) && in(i) == sum; });
    if (any) partial({NodeSharding::Kind::kLinear, group}, members, sum);
  }

  void partial(NodeSharding sharding, const std::vector<int>& members, const Placement& p) {
    Choice c{.sharding = sharding};
    for (int i = 0; i < inputs(); ++i) {
      const bool member = std::find(members.begin(), members.end(), i) != members.end();
      c.inputs.push_back(member ? p : in(i).is_local() ? in(i) : plain(i));
    }
    for (const OperandRule& o : rule_.outputs) {
      c.outputs.push_back(o.kind == Kind::kEqual    ? Placement::replicate()
                          : o.kind == Kind::kOpaque ? Placement::varying()
                                                    : p);
    }
    shardings_.push_back(std::move(c));
  }

  const ShardingsRequest& r_;
  const ShardingRule& rule_;
  std::vector<Choice>& shardings_;
};

}  // namespace

void list_shardings(const ShardingsRequest& request, std::vector<Choice>& shardings) {
  Lister(request, shardings).list();
}

}  // namespace argosy
