// The rule of one node from a parsed text: lists, "..", attributes and sizes filled in.
#include <algorithm>
#include <map>
#include <set>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_syntax.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

ShardingRule whole(std::string why) { return {.kind = ShardingRule::Kind::kWhole, .why = std::move(why)}; }

// A tensor of the node, and the operand of the text that speaks of it.
struct Place {
  const TextOperand* text = nullptr;
  const PartialShape* shape = nullptr;  // null: not known
  int arg = 0;
  bool input = true;
  bool open = false;                                // an output that is a handle: its dimensions are as the inputs say
  std::vector<std::vector<std::string>> dims = {};  // factors by name
};

class Instance {
 public:
  Instance(const ShardingText& text, const ShapeContext& c) : text_(text), c_(c) {}

  Result<ShardingRule> make() {
    ARGOSY_RETURN_IF_ERROR(place_all());
    if (std::string why = count_rests(); !why.empty()) return whole(std::move(why));
    for (Place& p : places_) {
      if (p.text->kind == Kind::kDims) name_dims(p);
    }
    if (std::string why = permute(); !why.empty()) return whole(std::move(why));
    if (std::string why = find_sizes(); !why.empty()) return whole(std::move(why));
    return rule();
  }

 private:
  // --- arguments and tensors
  Result<std::vector<int>> counts(const std::vector<ArgDef>& args) const {
    std::vector<int> n;
    for (const ArgDef& arg : args) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes({arg}, c_.attrs()));
      n.push_back(static_cast<int>(dtypes.size()));
    }
    return n;
  }

  // A handle has the dimensions of what it names: a variable, an element of a list.
  static bool is_handle(DType d) { return d == DType::kResource; }
  const PartialShape* shape_of_input(int i) const {
    const HandleFact* behind = c_.handle(i);
    if (behind != nullptr) return &behind->shape;
    return is_handle(c_.input_dtype(i)) ? nullptr : &c_.input(i);
  }

  Status place_all() {
    ARGOSY_ASSIGN_OR_RETURN(const auto in, counts(c_.op().input_args));
    ARGOSY_ASSIGN_OR_RETURN(const auto out, counts(c_.op().output_args));
    ARGOSY_ASSIGN_OR_RETURN(out_dtypes_, arg_dtypes(c_.op().output_args, c_.attrs()));
    const auto place = [&](const std::vector<int>& n, const std::vector<TextOperand>& texts, bool input) {
      int at = 0;
      for (std::size_t a = 0; a < n.size(); ++a) {
        (input ? first_input_ : first_output_).push_back(at);
        for (int k = 0; k < n[a]; ++k, ++at) {
          places_.push_back({.text = &texts[a],
                             .shape = input ? shape_of_input(at) : &c_.output(at),
                             .arg = static_cast<int>(a),
                             .input = input,
                             .open = !input && is_handle(out_dtypes_[static_cast<std::size_t>(at)])});
        }
      }
      (input ? first_input_ : first_output_).push_back(at);
      return at;
    };
    if (text_.inputs.size() != in.size() || text_.outputs.size() != out.size()) {
      return internal_error("op ", c_.op().name, ": its sharding rule has other arguments");
    }
    const int inputs = place(in, text_.inputs, true), outputs = place(out, text_.outputs, false);
    if (inputs != c_.num_inputs() || outputs != c_.num_outputs()) {
      return internal_error("op ", c_.op().name, ": its attributes speak of other inputs or outputs than it has");
    }
    return ok_status();
  }

  std::string name(const Place& p) const {
    const auto& args = p.input ? c_.op().input_args : c_.op().output_args;
    return str_cat(p.input ? "input " : "output ", p.arg, " (", args[static_cast<std::size_t>(p.arg)].name, ")");
  }

  // --- "i..": how many dimensions
  std::string count_rests() {
    for (const Place& p : places_) {
      if (p.text->kind != Kind::kDims) continue;
      if (p.open) continue;
      if (p.shape == nullptr) return str_cat("what is behind ", name(p), " is not known");
      if (!p.shape->has_rank()) return str_cat("the rank of ", name(p), " is not known");
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Place& p : places_) {
        if (p.text->kind != Kind::kDims || p.open) continue;
        int left = p.shape->rank();
        const TextDim* open = nullptr;
        bool several = false;
        const auto rests = std::count_if(p.text->dims.begin(), p.text->dims.end(),
                                         [](const TextDim& d) { return d.kind == TextDim::Kind::kRest; });
        for (const TextDim& d : p.text->dims) {
          if (d.kind != TextDim::Kind::kRest) {
            --left;
          } else if (const auto known = rests_.find(d.names[0]); rests > 1 && known != rests_.end()) {
            left -= known->second;
          } else {
            several = several || open != nullptr;
            open = &d;
          }
        }
        if (several) continue;
        if (left < 0 || (open == nullptr && left != 0)) {
          return str_cat(name(p), " has rank ", p.shape->rank(), ", which its rule does not cover");
        }
        if (open == nullptr) continue;
        const auto [at, fresh] = rests_.emplace(open->names[0], left);
        if (at->second != left && !text_.broadcasts) {
          return str_cat(name(p), " has rank ", p.shape->rank(), ", which its rule does not cover");
        }
        changed = changed || fresh || left > at->second;
        at->second = std::max(at->second, left);
      }
    }
    for (const Place& p : places_) {
      for (const TextDim& d : p.text->dims) {
        if (d.kind == TextDim::Kind::kRest && !rests_.contains(d.names[0])) {
          return str_cat("nothing says how many dimensions ", d.names[0], ".. stands for");
        }
      }
    }
    return "";
  }

  static std::string rest_name(const std::string& letter, int k) { return str_cat(letter, k); }
  static bool is(const TextFactor& f, const std::string& name) {
    if (!f.rest) return f.name == name;
    return name.size() > f.name.size() && name.starts_with(f.name) &&
           name.find_first_not_of("0123456789", f.name.size()) == std::string::npos;
  }

  void name_dims(Place& p) {
    int fixed = 0, rests = 0;
    for (const TextDim& d : p.text->dims) {
      const bool rest = d.kind == TextDim::Kind::kRest;
      rests += rest ? 1 : 0;
      fixed += rest ? 0 : 1;
    }
    for (const TextDim& d : p.text->dims) {
      if (d.kind != TextDim::Kind::kRest) {
        p.dims.push_back(d.names);
        continue;
      }
      const int total = rests_[d.names[0]];
      const int own = rests == 1 && !p.open ? p.shape->rank() - fixed : total;
      for (int k = total - own; k < total; ++k) p.dims.push_back({rest_name(d.names[0], k)});
    }
  }

  // --- attributes
  std::string permute() {
    for (const auto& [attr, input] : text_.flips) {
      if (!c_.attrs().get_bool(attr)) continue;
      for (Place& p : places_) {
        if (p.input && p.arg == input) std::swap(p.dims[p.dims.size() - 1], p.dims[p.dims.size() - 2]);
      }
    }
    if (text_.layout.empty()) return "";
    const std::string& layout = c_.attrs().get_string(text_.layout);
    if (layout == "NHWC" || layout == "NDHWC") return "";
    if (layout != "NCHW" && layout != "NCDHW") return str_cat(text_.layout, " is ", layout);
    for (Place& p : places_) {
      if (p.dims.size() < 3 || p.dims[0] != std::vector<std::string>{"n"}) continue;
      std::rotate(p.dims.begin() + 1, p.dims.end() - 1, p.dims.end());
    }
    return "";
  }

  // --- sizes
  struct Sizes {
    std::int64_t size = -1;
    int inputs = 0;        // that hold the factor in a dimension of its own
    bool unknown = false;  // one of them has a size that is not known
  };

  std::string find_sizes() {
    for (const Place& p : places_) {
      for (std::size_t d = 0; d < p.dims.size(); ++d) {
        for (const std::string& f : p.dims[d]) sizes_.try_emplace(f);
        if (p.dims[d].size() != 1 || p.open) continue;
        Sizes& s = sizes_[p.dims[d][0]];
        const std::int64_t size = (*p.shape)[static_cast<int>(d)];
        if (p.input) ++s.inputs;
        if (p.input || has_sizes()) s.unknown = s.unknown || size < 0;
        if (size < 0 || size == s.size) continue;
        if (s.size < 0 || (s.size == 1 && text_.broadcasts)) {
          s.size = size;
        } else if (size != 1 || !text_.broadcasts) {
          return str_cat(name(p), " has ", size, " along dimension ", d, ", another operand ", s.size);
        }
      }
    }
    for (Place& p : places_) {
      for (std::size_t d = 0; d < p.dims.size(); ++d) {
        if (p.open) continue;
        if (p.dims[d].size() == 1 && is_free(sizes_[p.dims[d][0]], (*p.shape)[static_cast<int>(d)])) p.dims[d].clear();
        if (p.dims[d].size() > 1) {
          if (std::string why = divide(p, d); !why.empty()) return why;
        }
      }
    }
    return "";
  }

  // A dimension of this size belongs to no factor: it is broadcast, or may be.
  bool is_free(const Sizes& s, std::int64_t size) const {
    if (!text_.broadcasts) return false;
    return (size == 1 && s.size != 1) || (s.unknown && (s.inputs > 1 || has_sizes()));
  }

  bool has_sizes() const {
    return std::any_of(text_.inputs.begin(), text_.inputs.end(),
                       [](const TextOperand& o) { return o.kind == Kind::kSizes; });
  }

  // The one size of a dimension of several factors that is not known.
  std::string divide(const Place& p, std::size_t d) {
    const std::int64_t size = (*p.shape)[static_cast<int>(d)];
    std::int64_t product = 1;
    Sizes* open = nullptr;
    for (const std::string& f : p.dims[d]) {
      Sizes& s = sizes_[f];
      if (s.size >= 0) {
        product *= s.size;
      } else if (open == nullptr) {
        open = &s;
      } else {
        return "";
      }
    }
    if (size < 0) return "";
    if (open == nullptr ? product != size : product == 0 || size % product != 0) {
      return str_cat(name(p), " has ", size, " along dimension ", d, ", no multiple of ", product);
    }
    if (open != nullptr) open->size = size / product;
    return "";
  }

  // --- the rule
  FactorRole role_of(const std::string& factor) const {
    for (const auto& [f, role] : text_.roles) {
      if (is(f, factor)) return role;
    }
    return FactorRole::kPass;
  }

  Result<ShardingRule> rule() {
    ShardingRule r{.kind = ShardingRule::Kind::kFactors};
    std::map<std::string, std::int8_t> index;
    for (const Place& p : places_) {
      OperandRule o{.kind = p.text->kind};
      if (o.kind == Kind::kSizes) o.of = first_output_[static_cast<std::size_t>(p.text->of)];
      for (const auto& dim : p.dims) {
        FactorsOfDim& factors = o.dims.emplace_back();
        for (const std::string& f : dim) {
          const auto [at, fresh] = index.emplace(f, static_cast<std::int8_t>(r.factors.size()));
          if (fresh) r.factors.push_back({f, sizes_[f].size, role_of(f)});
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
    r.unread = tensors(text_.unread);
    r.updates = tensors(text_.updates);
    for (const int i : tensors(text_.monotone)) {
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
        return str_cat(name(places_[i]), " does not hold the sizes of all ", o.dims.size(), " dimensions");
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
      const DType d = out_dtypes_[k];
      const bool sums = role == FactorRole::kSum || role == FactorRole::kMean;
      const bool compares = role == FactorRole::kMax || role == FactorRole::kMin;
      if (role == FactorRole::kPass || (sums && !is_number(d)) || (compares && !is_real(d))) role = FactorRole::kWhole;
    }
  }

  std::vector<int> tensors(const std::vector<int>& args) const {
    std::vector<int> list;
    for (const int a : args) {
      for (int i = first_input_[static_cast<std::size_t>(a)]; i < first_input_[static_cast<std::size_t>(a) + 1]; ++i) {
        list.push_back(i);
      }
    }
    return list;
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
    for (const auto& group : text_.groups) groups.push_back(tensors(group));
    const std::vector<int> data = tensors(data_args());
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
      if (adds && std::all_of(out_dtypes_.begin(), out_dtypes_.end(), is_number)) r.linear.push_back(std::move(group));
    }
  }

  const ShardingText& text_;
  const ShapeContext& c_;
  std::vector<Place> places_;
  std::vector<int> first_input_, first_output_;  // tensors of each argument, and how many there are
  std::vector<DType> out_dtypes_;
  std::map<std::string, int> rests_;
  std::map<std::string, Sizes> sizes_;
};

}  // namespace

Result<ShardingRule> instantiate(const ShardingText& text, const ShapeContext& c) {
  if (text.kind != ShardingRule::Kind::kFactors) return ShardingRule{.kind = text.kind, .why = text.why};
  return Instance(text, c).make();
}

}  // namespace argosy
