// The rule of one node from a parsed text: roles, linear groups and size operands, once dimensions have their factors.
#include <algorithm>
#include <map>

#include "argosy/op/definition/sharding_places.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

ShardingRule whole(std::string why) { return {.kind = ShardingRule::Kind::kWhole, .why = std::move(why)}; }

class Instance {
 public:
  Instance(const ShardingText& text, const ShapeContext& c) : text_(text), c_(c), places_(text, c) {}

  Result<ShardingRule> make() {
    ARGOSY_ASSIGN_OR_RETURN(std::string why, places_.find());
    if (!why.empty()) return whole(std::move(why));
    return rule();
  }

 private:
  static bool is(const TextFactor& f, const std::string& name) {
    if (!f.rest) return f.name == name;
    return name.size() > f.name.size() && name.starts_with(f.name) &&
           name.find_first_not_of("0123456789", f.name.size()) == std::string::npos;
  }

  FactorRole role_of(const std::string& factor) const {
    for (const auto& [f, role] : text_.roles) {
      if (is(f, factor)) return role;
    }
    return FactorRole::kPass;
  }

  Result<ShardingRule> rule() {
    ShardingRule r{.kind = ShardingRule::Kind::kFactors};
    std::map<std::string, std::int8_t> index;
    for (const Place& p : places_.all()) {
      OperandRule o{.kind = p.text->kind};
      if (o.kind == Kind::kSizes) o.of = places_.first_output(p.text->of);
      for (const auto& dim : p.dims) {
        FactorsOfDim& factors = o.dims.emplace_back();
        for (const std::string& f : dim) {
          const auto [at, fresh] = index.emplace(f, static_cast<std::int8_t>(r.factors.size()));
          if (fresh) r.factors.push_back({f, places_.size_of(f), role_of(f)});
          factors.push_back(at->second);
        }
      }
      (p.input ? r.inputs : r.outputs).push_back(std::move(o));
    }
    if (std::string why = follow_sizes(r); !why.empty()) return whole(std::move(why));
    if (r.factors.size() > 100) return whole("it has more than 100 dimensions");
    for (std::size_t f = 0; f < r.factors.size(); ++f) {
      const bool may = std::any_of(text_.local.begin(), text_.local.end(),
                                   [&](const TextFactor& l) { return is(l, r.factors[f].name); });
      if (may) r.may_be_local.push_back(static_cast<std::int8_t>(f));
      check_role(r, static_cast<std::int8_t>(f));
    }
    r.draws = text_.draws;
    r.unread = places_.inputs_of(text_.unread);
    r.updates = places_.inputs_of(text_.updates);
    for (const int i : places_.inputs_of(text_.monotone)) {
      if (is_real(c_.input_dtype(i))) r.monotone.push_back(i);
    }
    add_linear(r);
    return r;
  }

  // Size operands count the factors of their output, dimension by dimension.
  std::string follow_sizes(ShardingRule& r) const {
    for (std::size_t i = 0; i < r.inputs.size(); ++i) {
      OperandRule& o = r.inputs[i];
      if (o.kind != Kind::kSizes) continue;
      o.dims = r.outputs[static_cast<std::size_t>(o.of)].dims;
      const PartialShape& shape = c_.input(static_cast<int>(i));
      if (shape.rank() != 1 || (shape[0] >= 0 && shape[0] != static_cast<std::int64_t>(o.dims.size()))) {
        return str_cat(places_.name(places_.all()[i]), " does not hold the sizes of all ", o.dims.size(),
                       " dimensions");
      }
    }
    return "";
  }

  static bool is_real(DType d) { return is_floating(d) || is_integer(d); }
  static bool is_number(DType d) { return is_real(d) || is_complex(d); }

  // Of outputs that lack the factor. What cannot be added or compared is not partial.
  void check_role(ShardingRule& r, std::int8_t f) const {
    FactorRole& role = r.factors[static_cast<std::size_t>(f)].role;
    for (std::size_t k = 0; k < r.outputs.size(); ++k) {
      const OperandRule& o = r.outputs[k];
      const bool has = std::any_of(o.dims.begin(), o.dims.end(),
                                   [&](const FactorsOfDim& d) { return std::find(d.begin(), d.end(), f) != d.end(); });
      if (has || o.kind != Kind::kDims) continue;
      const DType d = places_.out_dtypes()[k];
      const bool sums = role == FactorRole::kSum || role == FactorRole::kMean;
      const bool compares = role == FactorRole::kMax || role == FactorRole::kMin;
      if (role == FactorRole::kPass || (sums && !is_number(d)) || (compares && !is_real(d))) role = FactorRole::kWhole;
    }
  }

  // Arguments of the first output's dtype: those that OpDef::linear speaks of.
  std::vector<int> data_args() const {
    const auto& args = c_.op().input_args;
    if (args.empty()) return {};
    const std::string& type = c_.op().output_args.empty() ? args[0].type_attr : c_.op().output_args[0].type_attr;
    const bool there = std::any_of(args.begin(), args.end(), [&](const ArgDef& a) { return a.type_attr == type; });
    std::vector<int> data;
    for (std::size_t a = 0; a < args.size(); ++a) {
      if (args[a].type_attr == (there ? type : args[0].type_attr)) data.push_back(static_cast<int>(a));
    }
    return data;
  }

  void add_linear(ShardingRule& r) const {
    const Linear how = text_.linear.value_or(c_.op().linear);
    std::vector<std::vector<int>> groups;
    for (const auto& group : text_.groups) groups.push_back(places_.inputs_of(group));
    const std::vector<int> data = places_.inputs_of(data_args());
    if (how == Linear::kJointly) groups.push_back(data);
    if (how == Linear::kEach) {
      for (const int i : data) groups.push_back({i});
    }
    if (how == Linear::kFirst && !data.empty()) groups.push_back({data[0]});
    for (std::vector<int>& group : groups) {
      const bool adds = !group.empty() && std::all_of(group.begin(), group.end(), [&](int i) {
        const DType d = c_.input_dtype(i);
        return is_number(d) && !(how == Linear::kFirst && is_integer(d));
      });
      if (adds && std::all_of(places_.out_dtypes().begin(), places_.out_dtypes().end(), is_number))
        r.linear.push_back(std::move(group));
    }
  }

  const ShardingText& text_;
  const ShapeContext& c_;
  ShardingPlaces places_;
};

}  // namespace

Result<ShardingRule> instantiate(const ShardingText& text, const ShapeContext& c) {
  if (text.kind != ShardingRule::Kind::kFactors) return ShardingRule{.kind = text.kind, .why = text.why};
  return Instance(text, c).make();
}

}  // namespace argosy
