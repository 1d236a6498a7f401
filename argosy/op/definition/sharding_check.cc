// Checks the notation of OpSpec::sharding against an op's arguments, when the registry is filled.
#include <algorithm>

#include "argosy/op/definition/sharding_syntax.h"
#include "argosy/op/definition/sharding_text.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

// A factor by name, or all factors of a letter.
struct Name {
  std::string_view name;
  bool rest = false;
  friend bool operator==(const Name&, const Name&) = default;
};
using Names = std::vector<Name>;

std::string text_of(const Name& n) { return str_cat(n.name, n.rest ? ".." : ""); }
Name name_of(const TextFactor& f) { return {f.name, f.rest}; }
bool contains(const Names& names, const Name& n) { return std::find(names.begin(), names.end(), n) != names.end(); }

void add_names(const TextOperand& o, Names& names) {
  for (const TextDim& d : o.dims) {
    for (const std::string& name : d.names) {
      const Name n{name, d.kind == TextDim::Kind::kRest};
      if (!contains(names, n)) names.push_back(n);
    }
  }
}

Status check_arguments(const std::vector<TextOperand>& said, const std::vector<ArgDef>& args, const char* what,
                       std::size_t outputs) {
  if (said.size() != args.size()) {
    return invalid_argument("it has ", said.size(), " ", what, "s, the op ", args.size());
  }
  const bool is_input = std::string_view(what) == "input";
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool list = !args[i].number_attr.empty() || !args[i].type_list_attr.empty();
    const TextOperand& o = said[i];
    if (o.list && !list) return invalid_argument(what, " ", i, " is no list");
    if (!o.list && list && o.kind != Kind::kOpaque) return invalid_argument(what, " ", i, " is a list: \"*\"");
    if (o.kind == Kind::kSizes && (!is_input || o.of < 0 || o.of >= static_cast<int>(outputs))) {
      return invalid_argument("size(", o.of, ") in ", what, " ", i);
    }
    if (is_input ? o.kind == Kind::kEqual : o.kind == Kind::kShapeOnly || o.kind == Kind::kScratch) {
      return invalid_argument(what, " ", i, " cannot be of that kind");
    }
  }
  return ok_status();
}

class Check {
 public:
  Check(const OpDef& op, const ShardingText& text) : op_(op), text_(text) {
    for (const TextOperand& o : text.inputs) add_names(o, in_inputs_);
    for (const TextOperand& o : text.outputs) add_names(o, in_outputs_);
  }

  Status run() const {
    ARGOSY_RETURN_IF_ERROR(check_arguments(text_.inputs, op_.input_args, "input", op_.output_args.size()));
    ARGOSY_RETURN_IF_ERROR(check_arguments(text_.outputs, op_.output_args, "output", op_.output_args.size()));
    ARGOSY_RETURN_IF_ERROR(check_factors());
    ARGOSY_RETURN_IF_ERROR(check_inputs(text_.monotone));
    ARGOSY_RETURN_IF_ERROR(check_inputs(text_.unread));
    ARGOSY_RETURN_IF_ERROR(check_inputs(text_.updates));
    for (const auto& group : text_.groups) ARGOSY_RETURN_IF_ERROR(check_inputs(group));
    return check_attributes();
  }

 private:
  Status check_factors() const {
    for (const auto& [f, role] : text_.roles) ARGOSY_RETURN_IF_ERROR(check_known(f));
    for (const TextFactor& f : text_.local) ARGOSY_RETURN_IF_ERROR(check_known(f));
    // A factor that only outputs have comes from sizes, from a stream, or from nowhere: a source.
    const bool makes = text_.draws || text_.inputs.empty() ||
                       std::any_of(text_.inputs.begin(), text_.inputs.end(),
                                   [](const TextOperand& o) { return o.kind == Kind::kSizes; });
    for (const Name& n : in_outputs_) {
      if (!contains(in_inputs_, n) && !makes && !has_role(n)) {
        return invalid_argument("factor ", text_of(n), " is in no input");
      }
    }
    Names all = in_inputs_;
    for (const Name& n : in_outputs_) {
      if (!contains(all, n)) all.push_back(n);
    }
    for (std::size_t k = 0; k < text_.outputs.size(); ++k) {
      if (text_.outputs[k].kind != Kind::kDims) continue;
      Names own;
      add_names(text_.outputs[k], own);
      for (const Name& n : all) {
        if (contains(own, n) || has_role(n)) continue;
        return invalid_argument("output ", k, " lacks factor ", text_of(n), ", which has no role");
      }
    }
    return ok_status();
  }

  bool has_role(const Name& n) const {
    return std::any_of(text_.roles.begin(), text_.roles.end(), [&](const auto& r) { return name_of(r.first) == n; });
  }
  Status check_known(const TextFactor& f) const {
    const Name n = name_of(f);
    if (contains(in_inputs_, n) || contains(in_outputs_, n)) return ok_status();
    return invalid_argument("there is no factor ", text_of(n));
  }

  Status check_inputs(const std::vector<int>& inputs) const {
    for (const int i : inputs) {
      if (i >= static_cast<int>(op_.input_args.size())) return invalid_argument("there is no input ", i);
    }
    return ok_status();
  }

  Status check_attributes() const {
    for (const auto& [attr, input] : text_.flips) {
      const AttrDef* def = op_.attr(attr);
      if (def == nullptr || def->kind != AttrKind::kBool)
        return invalid_argument("\"", attr, "\" is no bool attribute");
      ARGOSY_RETURN_IF_ERROR(check_inputs({input}));
      const TextOperand& o = text_.inputs[static_cast<std::size_t>(input)];
      const bool pair = o.dims.size() >= 2 && o.dims[o.dims.size() - 1].kind != TextDim::Kind::kRest &&
                        o.dims[o.dims.size() - 2].kind != TextDim::Kind::kRest;
      if (!pair) return invalid_argument("input ", input, " has no two last dimensions to flip");
    }
    if (text_.layout.empty()) return ok_status();
    const AttrDef* def = op_.attr(text_.layout);
    if (def == nullptr || def->kind != AttrKind::kString) {
      return invalid_argument("\"", text_.layout, "\" is no string attribute");
    }
    return ok_status();
  }

  const OpDef& op_;
  const ShardingText& text_;
  Names in_inputs_, in_outputs_;
};

}  // namespace

Status check_sharding_text(const OpDef& op, std::string_view source) {
  const auto wrong = [&](const Status& status) {
    return invalid_argument("op ", op.name, ": sharding \"", source, "\": ", status.message());
  };
  const auto text = parse_sharding_text(source);
  if (!text.ok()) return wrong(text.status());
  if (text->kind != ShardingRule::Kind::kFactors) {
    return text->why.empty() ? wrong(invalid_argument("it gives no reason")) : ok_status();
  }
  const Status checked = Check(op, *text).run();
  return checked.ok() ? checked : wrong(checked);
}

}  // namespace argosy
