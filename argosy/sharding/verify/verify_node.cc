#include "argosy/sharding/verify/verify_node.h"

#include <algorithm>

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

bool is_varying(const Placement& p) { return p.kind == Placement::Kind::kVarying; }

// Checks an input that holds no sharded factor and is no partial sum. Returns "" if its placement is allowed.
std::string why_not_plain(const ShardingRule& rule, std::size_t i, const Placement& p, bool scratch_varies, bool own) {
  const OperandRule& o = rule.inputs[i];
  if (p.is_replicate() && !(o.kind == Kind::kScratch && scratch_varies)) return "";
  if (o.kind == Kind::kShapeOnly && (p.is_shard() || p.is_partial())) return "";
  if (o.kind == Kind::kScratch && scratch_varies && is_varying(p)) return "";
  if (p.is_local() && own) return "";
  if (p.is_partial() && std::count(rule.unread.begin(), rule.unread.end(), static_cast<int>(i)) > 0) return "";
  return str_cat("input ", i, " must be replicated, not ", to_string(p));
}

std::string flow(const OpDef& op, const std::vector<Placement>& in, const std::vector<Placement>& out) {
  if (in.empty()) return "it has no inputs";
  const bool conditional = op.flow == Flow::kSwitch;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (conditional && i == 1) {
      if (!in[i].is_replicate()) return "its predicate is not the same on every device";
    } else if (in[i] != in[0]) {
      return str_cat("input ", i, " is not what input 0 is");
    }
  }
  if (is_varying(in[0]) || in[0].kind == Placement::Kind::kOnce) return "what is passed on is no value of all devices";
  for (std::size_t k = 0; k < out.size(); ++k) {
    const bool index = op.flow == Flow::kMerge && k == 1;
    if (out[k] != (index ? Placement::replicate() : in[0])) return str_cat("output ", k, " is not what its input is");
  }
  return "";
}

std::string all_alike(const std::vector<Placement>& in, const std::vector<Placement>& out, bool once) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool one = once && in[i].kind == Placement::Kind::kOnce;
    if (!in[i].is_replicate() && !one) return str_cat("input ", i, " must be replicated, not ", to_string(in[i]));
  }
  const Placement want = once ? Placement::once() : Placement::replicate();
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (out[k] != want) return str_cat("output ", k, " is ", to_string(want), ", not ", to_string(out[k]));
  }
  return "";
}

// Checks an op without factors that every shard computes from replicated values and its own statistics.
std::string all_local(const std::vector<Placement>& in, const std::vector<Placement>& out) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_replicate() && !in[i].is_local()) return str_cat("input ", i, " is no shard's own");
  }
  const bool own = std::all_of(out.begin(), out.end(), [](const Placement& p) { return p.is_local(); });
  return own ? "" : "its outputs are not each shard's own";
}

class Factors {
 public:
  Factors(const ShardingRule& rule, const NodeSharding& sharding, const std::vector<Placement>& in,
          const std::vector<Placement>& out, bool keeps_local)
      : rule_(rule), sharding_(sharding), in_(in), out_(out), keeps_local_(keeps_local) {}

  std::string why_not() {
    switch (sharding_.kind) {
      case NodeSharding::Kind::kWhole: return whole();
      case NodeSharding::Kind::kFactor: return sharded();
      case NodeSharding::Kind::kLinear: {
        if (sharding_.index < 0 || sharding_.index >= std::ssize(rule_.linear)) return "there is no such linear group";
        return partial(rule_.linear[static_cast<std::size_t>(sharding_.index)], {Placement::partial(Combine::kSum)});
      }
      case NodeSharding::Kind::kMonotone: {
        const bool listed = std::count(rule_.monotone.begin(), rule_.monotone.end(), sharding_.index) > 0;
        if (!listed) return "it is not monotone in this input";
        return partial({sharding_.index}, {Placement::partial(Combine::kMax), Placement::partial(Combine::kMin)});
      }
      case NodeSharding::Kind::kLocal: return local();
      default: return "its rule has no such sharding";
    }
  }

 private:
  // Checks a node that every shard computes from replicated values and its own statistics.
  std::string local() const {
    if (!rule_.updates.empty() || rule_.draws) return "it writes or draws, and shards would do so for themselves";
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (std::string why = why_not_plain(rule_, i, in_[i], false, true); !why.empty()) return why;
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      const Placement want = rule_.outputs[k].kind == Kind::kEqual ? Placement::replicate() : Placement::local();
      if (out_[k] != want) return str_cat("output ", k, " is ", to_string(want), ", not ", to_string(out_[k]));
    }
    return "";
  }

  std::string whole() const {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (std::string why = why_not_plain(rule_, i, in_[i], false, false); !why.empty()) return why;
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (!out_[k].is_replicate()) return str_cat("output ", k, " is R, not ", to_string(out_[k]));
    }
    return "";
  }

  std::string partial(const std::vector<int>& members, const std::vector<Placement>& allowed) const {
    if (!rule_.updates.empty()) return "the new value of a variable would be partial";
    const Placement& p = in_[static_cast<std::size_t>(members[0])];
    if (std::find(allowed.begin(), allowed.end(), p) == allowed.end()) return "its input is not partial in that way";
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (std::find(members.begin(), members.end(), static_cast<int>(i)) != members.end()) {
        if (in_[i] != p) return str_cat("input ", i, " is ", to_string(in_[i]), ", which would count on every device");
      } else if (std::string why = why_not_plain(rule_, i, in_[i], false, true); !why.empty()) {
        return why;
      }
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      const Kind kind = rule_.outputs[k].kind;
      const Placement want = kind == Kind::kEqual    ? Placement::replicate()
                             : kind == Kind::kOpaque ? Placement::varying()
                                                     : p;
      if (out_[k] != want) return str_cat("output ", k, " is ", to_string(want), ", not ", to_string(out_[k]));
    }
    return "";
  }

  // --- along a factor: rows of a dimension are numbered outer factor first
  std::string sharded() {
    if (sharding_.index < 0 || sharding_.index >= std::ssize(rule_.factors)) return "there is no such factor";
    const Factor& f = rule_.factors[static_cast<std::size_t>(sharding_.index)];
    const auto& may = rule_.may_be_local;
    own_ = keeps_local_ && std::count(may.begin(), may.end(), static_cast<std::int8_t>(sharding_.index)) > 0;
    const bool forbidden =
        !own_ && (f.role == FactorRole::kWhole || f.role == FactorRole::kHalo || f.role == FactorRole::kRows);
    if (forbidden) return str_cat("it must not be sharded along ", f.name);
    for (std::size_t i = 0; i < in_.size(); ++i) {
      Placement want;
      if (std::string why = find(rule_.inputs[i], want); !why.empty()) return str_cat("input ", i, ": ", why);
      if (!want.is_shard()) {
        if (std::string why = why_not_plain(rule_, i, in_[i], true, true); !why.empty()) return why;
      } else if (in_[i] != want) {
        return str_cat("input ", i, " must be ", to_string(want), ", not ", to_string(in_[i]));
      }
    }
    for (std::size_t k = 0; k < out_.size(); ++k) {
      Placement want;
      if (std::string why = find(rule_.outputs[k], want); !why.empty()) return str_cat("output ", k, ": ", why);
      if (!want.is_shard()) {
        if (std::string why = lacking(rule_.outputs[k], f, want); !why.empty()) return str_cat("output ", k, ": ", why);
      }
      if (out_[k] != want) return str_cat("output ", k, " is ", to_string(want), ", not ", to_string(out_[k]));
    }
    return "";
  }

  // Sets `p` to the shard of an operand that has the factor. It stays R if the operand does not have it.
  std::string find(const OperandRule& o, Placement& p) const {
    if (o.kind != Kind::kDims) return "";
    for (std::size_t d = 0; d < o.dims.size(); ++d) {
      std::int64_t rows = 1;  // inside of what was met so far
      bool met = false;
      for (auto f = o.dims[d].rbegin(); f != o.dims[d].rend(); ++f) {
        const std::int64_t size = rule_.factors[static_cast<std::size_t>(*f)].size;
        if (*f == sharding_.index) {
          if (p.is_shard() || met) return "it has the factor twice";
          p = Placement::shard(static_cast<int>(d), sharding_.rounds, sharding_.unit * rows);
          met = true;
          continue;
        }
        if (o.dims[d].size() > 1 && size <= 0) return "sizes beside the factor are not known";
        (met ? p.rounds : rows) *= size;
      }
    }
    return "";
  }

  std::string lacking(const OperandRule& o, const Factor& f, Placement& p) const {
    if (o.kind == Kind::kEqual || f.role == FactorRole::kEqual) return "";
    if (o.kind == Kind::kOpaque) {
      p = Placement::varying();
    } else if (rule_.linear.empty() ? own_ : keeps_local_ && f.role == FactorRole::kMean) {
      p = Placement::local();
    } else if (own_ || f.role == FactorRole::kSum || f.role == FactorRole::kMean) {
      p = Placement::partial(Combine::kSum);
    } else if (f.role == FactorRole::kMax || f.role == FactorRole::kMin) {
      p = Placement::partial(f.role == FactorRole::kMax ? Combine::kMax : Combine::kMin);
    } else {
      return str_cat("it lacks ", f.name);
    }
    return "";
  }

  const ShardingRule& rule_;
  const NodeSharding& sharding_;
  const std::vector<Placement>&in_, &out_;
  const bool keeps_local_;
  bool own_ = false;  // the factor may be local, and is
};

}  // namespace

std::string why_not(const OpDef& op, bool hidden_state, const ShardingRule& rule, const NodeSharding& sharding,
                    const std::vector<Placement>& in, const std::vector<Placement>& out, bool keeps_local) {
  switch (op.flow) {
    case Flow::kSwitch:
    case Flow::kMerge:
    case Flow::kEnter:
    case Flow::kExit:
    case Flow::kNextIteration:
      return sharding.kind == NodeSharding::Kind::kPass ? flow(op, in, out) : "control flow passes on";
    default: break;
  }
  // Random numbers: what every device draws for itself is not one value.
  const bool drawn = op.stateful && hidden_state && (rule.draws || rule.kind == ShardingRule::Kind::kWhole);
  if (drawn && sharding.kind == NodeSharding::Kind::kWhole && !in.empty() && !out.empty())
    return "every device would draw other numbers";
  if (drawn && sharding.kind == NodeSharding::Kind::kOnce) return all_alike(in, out, true);
  if (rule.kind == ShardingRule::Kind::kFactors) return Factors(rule, sharding, in, out, keeps_local).why_not();
  const bool once = rule.kind == ShardingRule::Kind::kOnce;
  if (sharding.kind == NodeSharding::Kind::kLocal && !once && !drawn) return all_local(in, out);
  if (sharding.kind != (once ? NodeSharding::Kind::kOnce : NodeSharding::Kind::kWhole))
    return "its rule has no such sharding";
  return all_alike(in, out, once);
}

}  // namespace argosy
