#include "argosy/op/definition/op_def.h"

#include <algorithm>
#include <charconv>

namespace argosy {

namespace {
// How many tensors an attribute may count.
constexpr std::int64_t kMostTensors = std::int64_t{1} << 24;
}  // namespace

const AttrDef* OpDef::attr(std::string_view attr_name) const {
  for (const AttrDef& a : attr_defs) {
    if (a.name == attr_name) return &a;
  }
  return nullptr;
}

bool OpDef::has_ref_input() const {
  return std::any_of(input_args.begin(), input_args.end(), [](const ArgDef& a) { return a.is_ref; });
}

Result<std::vector<DType>> arg_dtypes(const std::vector<ArgDef>& args, const AttrMap& attrs, std::vector<bool>* refs) {
  std::vector<DType> dtypes;
  if (refs) refs->clear();
  for (const ArgDef& arg : args) {
    const std::size_t before = dtypes.size();
    if (!arg.type_list_attr.empty()) {
      const auto* list = attrs.find_as<std::vector<DType>>(arg.type_list_attr);
      if (!list) return invalid_argument("attribute ", arg.type_list_attr, " is missing");
      dtypes.insert(dtypes.end(), list->begin(), list->end());
    } else {
      DType dtype = arg.dtype;
      if (dtype == DType::kInvalid) {
        const auto* given = attrs.find_as<DType>(arg.type_attr);
        if (!given) return invalid_argument("attribute ", arg.type_attr, " is missing");
        dtype = *given;
      }
      std::int64_t count = 1;
      if (!arg.number_attr.empty()) {
        const auto* number = attrs.find_as<std::int64_t>(arg.number_attr);
        if (!number || *number < 0 || *number > kMostTensors) {
          return invalid_argument("attribute ", arg.number_attr, " is missing or out of range");
        }
        count = *number;
      }
      dtypes.insert(dtypes.end(), static_cast<std::size_t>(count), dtype);
    }
    if (refs) refs->insert(refs->end(), dtypes.size() - before, arg.is_ref);
  }
  return dtypes;
}

namespace {

Status wrong_attr(const OpDef& op, std::string_view attr, std::string_view what) {
  return invalid_argument(op.name, ": attribute ", attr, " ", what).with_id("ARG-ATTR-001");
}

// A default or given value as the definition's kind; an empty list literal fits every list kind.
bool fits(const AttrDef& def, const AttrValue& value) {
  return value.index() == static_cast<std::size_t>(def.kind) + 1;
}

// In TensorFlow's words.
Status too_small(const OpDef& op, std::string_view what, const AttrDef& def, std::int64_t given) {
  return invalid_argument(op.name, ": ", what, " for attr '", def.name, "' of ", given, " must be at least minimum ",
                          *def.minimum)
      .with_id("ARG-ATTR-001");
}

// None: it is no list.
std::optional<std::int64_t> list_length(const AttrValue& value) {
  const auto length = [](const auto& v) -> std::optional<std::int64_t> {
    using T = std::decay_t<decltype(v)>;
    if constexpr (requires {
                    typename T::value_type;
                    v.size();
                  } &&
                  !std::is_same_v<T, std::string>) {
      return static_cast<std::int64_t>(v.size());
    }
    return std::nullopt;
  };
  return std::visit(length, static_cast<const AttrVariant&>(value));
}

Status check_attr(const OpDef& op, const AttrDef& def, const AttrValue& value) {
  if (!fits(def, value)) return wrong_attr(op, def.name, str_cat("has the wrong kind: ", attr_to_string(value)));
  const auto allowed_type = [&](DType d) {
    return def.types.empty() || std::find(def.types.begin(), def.types.end(), d) != def.types.end();
  };
  if (const auto* d = std::get_if<DType>(&value)) {
    if (!allowed_type(*d)) return wrong_attr(op, def.name, str_cat("may not be ", dtype_name(*d)));
  } else if (const auto* list = std::get_if<std::vector<DType>>(&value)) {
    for (const DType t : *list) {
      if (!allowed_type(t)) return wrong_attr(op, def.name, str_cat("may not contain ", dtype_name(t)));
    }
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    if (!def.strings.empty() && std::find(def.strings.begin(), def.strings.end(), *s) == def.strings.end()) {
      return wrong_attr(op, def.name, str_cat("may not be \"", *s, "\": one of ", str_join(def.strings)));
    }
  }
  if (!def.minimum) return ok_status();
  if (const auto* n = std::get_if<std::int64_t>(&value); n != nullptr && *n < *def.minimum) {
    return too_small(op, "Value", def, *n);
  }
  if (const auto length = list_length(value); length && *length < *def.minimum) {
    return too_small(op, "Length", def, *length);
  }
  return ok_status();
}

void set_if_absent(AttrMap& attrs, const std::string& name, AttrValue value) {
  if (!name.empty() && attrs.find(name) == nullptr) attrs.set(name, std::move(value));
}

// How many tensors the number attributes share: all inputs less those whose count is fixed.
Status infer_from_inputs(const OpDef& op, std::span<const DType> dtypes, AttrMap& attrs) {
  std::int64_t fixed = 0;
  std::vector<std::string> open_numbers;
  int open_lists = 0;
  int users = 0;
  for (const ArgDef& arg : op.input_args) {
    if (!arg.type_list_attr.empty()) {
      if (const auto* list = attrs.find_as<std::vector<DType>>(arg.type_list_attr)) {
        fixed += static_cast<std::int64_t>(list->size());
      } else {
        ++open_lists;
      }
    } else if (!arg.number_attr.empty()) {
      if (const auto* n = attrs.find_as<std::int64_t>(arg.number_attr)) {
        ARGOSY_RETURN_IF_ERROR(check_attr(op, *op.attr(arg.number_attr), *n));
        if (*n < 0 || *n > kMostTensors) return wrong_attr(op, arg.number_attr, str_cat("is ", *n, ", out of range"));
        fixed += *n;
      } else {
        ++users;
        if (std::find(open_numbers.begin(), open_numbers.end(), arg.number_attr) == open_numbers.end()) {
          open_numbers.push_back(arg.number_attr);
        }
      }
    } else {
      ++fixed;
    }
  }
  const auto given = static_cast<std::int64_t>(dtypes.size());
  const std::int64_t rest = given - fixed;
  if (rest < 0 || (open_numbers.empty() && open_lists == 0 && rest != 0)) {
    return invalid_argument(op.name, ": takes ", fixed, " inputs, was given ", given).with_id("ARG-ATTR-002");
  }
  if (open_numbers.size() + open_lists > 1) {
    return invalid_argument(op.name, ": several list inputs; give their attributes explicitly");
  }
  if (!open_numbers.empty()) {
    if (rest % users != 0) return invalid_argument(op.name, ": its ", users, " lists must be of one length");
    attrs.set(open_numbers[0], rest / users);
  }
  std::size_t at = 0;
  for (const ArgDef& arg : op.input_args) {
    if (!arg.type_list_attr.empty()) {
      const auto* list = attrs.find_as<std::vector<DType>>(arg.type_list_attr);
      const std::size_t n = list ? list->size() : static_cast<std::size_t>(rest);
      if (!list) {
        attrs.set(arg.type_list_attr, std::vector<DType>(dtypes.begin() + at, dtypes.begin() + at + n));
      }
      at += n;
      continue;
    }
    const std::int64_t n = arg.number_attr.empty() ? 1 : attrs.get_int(arg.number_attr);
    if (n > 0 && !arg.type_attr.empty()) set_if_absent(attrs, arg.type_attr, dtypes[at]);
    at += static_cast<std::size_t>(n);
  }
  return ok_status();
}

}  // namespace

Status complete_attrs(const OpDef& op, std::span<const DType> input_dtypes, AttrMap& attrs) {
  for (const auto& [name, value] : attrs) {
    const AttrDef* def = op.attr(name);
    if (def == nullptr) {
      if (name.starts_with('_')) continue;
      std::vector<std::string> names;
      for (const AttrDef& a : op.attr_defs) names.push_back(a.name);
      return invalid_argument(op.name, ": there is no attribute \"", name, "\"; it has: ", str_join(names))
          .with_id("ARG-ATTR-003");
    }
  }
  ARGOSY_RETURN_IF_ERROR(infer_from_inputs(op, input_dtypes, attrs));
  for (const AttrDef& def : op.attr_defs) {
    const AttrValue* value = attrs.find(def.name);
    if (value == nullptr) {
      if (std::holds_alternative<std::monostate>(def.value)) return wrong_attr(op, def.name, "is missing");
      attrs.set(def.name, def.value);
      continue;
    }
    ARGOSY_RETURN_IF_ERROR(check_attr(op, def, *value));
  }
  std::size_t at = 0;
  ARGOSY_ASSIGN_OR_RETURN(const auto expected, arg_dtypes(op.input_args, attrs));
  if (expected.size() != input_dtypes.size()) {
    return invalid_argument(op.name, ": takes ", expected.size(), " inputs, was given ", input_dtypes.size())
        .with_id("ARG-ATTR-002");
  }
  for (; at < expected.size(); ++at) {
    if (expected[at] != input_dtypes[at]) {
      return invalid_argument(op.name, ": input ", at, " must be ", dtype_name(expected[at]), ", not ",
                              dtype_name(input_dtypes[at]))
          .with_id("ARG-DTYPE-002")
          .with_hint("cast() the input");
    }
  }
  return ok_status();
}

}  // namespace argosy
