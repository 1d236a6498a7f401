// The notation of OpSpec: a scanner over one string, and one function per kind of string.
#include <charconv>

#include "argosy/op/definition/op_def.h"
#include "argosy/op/definition/sharding_text.h"

namespace argosy {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  std::string word() {
    skip_space();
    std::size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    std::string w(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return w;
  }
  // A literal up to a delimiter: -1, 0.5, true, 'SAME', [1, 2].
  std::string literal() {
    skip_space();
    std::size_t n = 0;
    if (rest_.starts_with('\'')) {
      n = rest_.find('\'', 1);
      std::string s(rest_.substr(1, n - 1));
      rest_.remove_prefix(n + 1);
      return s;
    }
    while (n < rest_.size() && std::string_view(",]}) ").find(rest_[n]) == std::string_view::npos) ++n;
    std::string s(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return s;
  }
  bool done() {
    skip_space();
    return rest_.empty();
  }
  bool next_is(char c) {
    skip_space();
    return rest_.starts_with(c);
  }

 private:
  void skip_space() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

std::vector<DType> type_set(std::string_view name) {
  using enum DType;
  if (name == "floating") return {kFloat32, kFloat64, kBfloat16, kFloat16};
  if (name == "index") return {kInt32, kInt64};
  if (name == "integer") return {kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64};
  if (name == "real") {
    return {kFloat32, kFloat64, kBfloat16, kFloat16, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64};
  }
  if (name == "number") {
    return {kFloat32, kFloat64, kBfloat16, kFloat16, kInt8,   kInt16,     kInt32,
            kInt64,   kUint8,   kUint16,   kUint32,  kUint64, kComplex64, kComplex128};
  }
  return {};
}

Result<AttrValue> scalar_value(AttrKind kind, const std::string& text) {
  switch (kind) {
    case AttrKind::kInt: {
      std::int64_t n = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc{}) break;
      return AttrValue(n);
    }
    case AttrKind::kFloat: {
      float f = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), f).ec != std::errc{}) break;
      return AttrValue(f);
    }
    case AttrKind::kBool:
      if (text == "true" || text == "false") return AttrValue(text == "true");
      break;
    case AttrKind::kString: return AttrValue(text);
    case AttrKind::kType:
      if (parse_dtype(text) != DType::kInvalid) return AttrValue(parse_dtype(text));
      break;
    case AttrKind::kShape:
      if (text == "unknown") return AttrValue(PartialShape::unknown());
      if (text == "scalar") return AttrValue(PartialShape::scalar());
      break;
    default: break;
  }
  return invalid_argument("bad default \"", text, "\"");
}

Result<AttrValue> default_value(AttrKind kind, Scanner& in) {
  const auto list = [&]<typename T>(AttrKind element, std::vector<T> items) -> Result<AttrValue> {
    if (!in.take("[")) return invalid_argument("a list default starts with [");
    while (!in.take("]")) {
      ARGOSY_ASSIGN_OR_RETURN(const AttrValue item, scalar_value(element, in.literal()));
      items.push_back(std::get<T>(item));
      in.take(",");
    }
    return AttrValue(std::move(items));
  };
  switch (kind) {
    case AttrKind::kInts: return list(AttrKind::kInt, std::vector<std::int64_t>{});
    case AttrKind::kFloats: return list(AttrKind::kFloat, std::vector<float>{});
    case AttrKind::kBools: return list(AttrKind::kBool, std::vector<bool>{});
    case AttrKind::kStrings: return list(AttrKind::kString, std::vector<std::string>{});
    case AttrKind::kTypes: return list(AttrKind::kType, std::vector<DType>{});
    case AttrKind::kShapes: return list(AttrKind::kShape, std::vector<PartialShape>{});
    case AttrKind::kTensor: {
      if (in.word() != "uint8" || !in.take("{")) return invalid_argument("a tensor default is uint8 {1, 2 …}");
      std::vector<std::uint8_t> bytes;
      while (!in.take("}")) {
        ARGOSY_ASSIGN_OR_RETURN(const AttrValue byte, scalar_value(AttrKind::kInt, in.literal()));
        bytes.push_back(static_cast<std::uint8_t>(std::get<std::int64_t>(byte)));
        in.take(",");
      }
      return AttrValue(Tensor::vector(bytes));
    }
    default: return scalar_value(kind, in.literal());
  }
}

Status parse_kind(Scanner& in, AttrDef& def) {
  const bool is_list = in.take("list(");
  if (in.take("{")) {
    def.kind = AttrKind::kType;
    while (!in.take("}")) {
      if (in.next_is('\'')) {
        def.kind = AttrKind::kString;
        def.strings.push_back(in.literal());
      } else {
        const std::string name = in.word();
        const DType d = parse_dtype(name);
        const std::vector<DType> set = type_set(name);
        if (d == DType::kInvalid && set.empty()) return invalid_argument("unknown dtype \"", name, "\"");
        if (d != DType::kInvalid) def.types.push_back(d);
        def.types.insert(def.types.end(), set.begin(), set.end());
      }
      in.take(",");
    }
  } else {
    const std::string name = in.word();
    constexpr std::pair<std::string_view, AttrKind> kKinds[] = {
        {"int", AttrKind::kInt},       {"float", AttrKind::kFloat},  {"bool", AttrKind::kBool},
        {"string", AttrKind::kString}, {"type", AttrKind::kType},    {"shape", AttrKind::kShape},
        {"tensor", AttrKind::kTensor}, {"func", AttrKind::kFunction}};
    bool found = false;
    for (const auto& [word, kind] : kKinds) {
      if (word == name) {
        def.kind = kind;
        found = true;
      }
    }
    if (!found) {
      def.kind = AttrKind::kType;
      def.types = type_set(name);
      if (def.types.empty()) return invalid_argument("unknown kind \"", name, "\"");
    }
  }
  if (is_list) {
    if (!in.take(")")) return invalid_argument("list( is not closed");
    def.kind = static_cast<AttrKind>(static_cast<int>(def.kind) + static_cast<int>(AttrKind::kInts));
  }
  return ok_status();
}

Result<AttrDef> parse_attr(std::string_view text) {
  Scanner in(text);
  AttrDef def;
  def.name = in.word();
  if (!in.take(":")) return invalid_argument("a ':' is missing");
  ARGOSY_RETURN_IF_ERROR(parse_kind(in, def));
  if (in.take(">=")) {
    ARGOSY_ASSIGN_OR_RETURN(const AttrValue n, scalar_value(AttrKind::kInt, in.literal()));
    def.minimum = std::get<std::int64_t>(n);
  }
  if (in.take("=")) {
    ARGOSY_ASSIGN_OR_RETURN(def.value, default_value(def.kind, in));
  }
  if (!in.done()) return invalid_argument("text is left over");
  return def;
}

Result<ArgDef> parse_arg(std::string_view text, const std::vector<AttrDef>& attrs) {
  Scanner in(text);
  ArgDef arg;
  arg.name = in.word();
  if (!in.take(":")) return invalid_argument("a ':' is missing");
  arg.is_ref = in.take("Ref(");
  std::string type = in.word();
  if (in.take("*")) {
    arg.number_attr = type;
    type = in.word();
  }
  if (arg.is_ref && !in.take(")")) return invalid_argument("Ref( is not closed");
  if (!in.done()) return invalid_argument("text is left over");
  const auto known = [&](const std::string& name, AttrKind kind) {
    for (const AttrDef& a : attrs) {
      if (a.name == name) return a.kind == kind;
    }
    return false;
  };
  if (!arg.number_attr.empty() && !known(arg.number_attr, AttrKind::kInt)) {
    return invalid_argument("no int attribute \"", arg.number_attr, "\"");
  }
  if (known(type, AttrKind::kTypes)) {
    arg.type_list_attr = type;
  } else if (known(type, AttrKind::kType)) {
    arg.type_attr = type;
  } else {
    arg.dtype = parse_dtype(type);
    if (arg.dtype == DType::kInvalid) return invalid_argument("\"", type, "\" is neither a dtype nor an attribute");
  }
  return arg;
}

}  // namespace

Result<OpDef> parse_op(OpSpec spec) {
  OpDef op;
  static_cast<OpSpec&>(op) = std::move(spec);
  const auto named = [&](Status status, const std::string& text) {
    return internal_error("op ", op.name, ": \"", text, "\": ", status.message());
  };
  for (const std::string& text : op.attrs) {
    auto attr = parse_attr(text);
    if (!attr.ok()) return named(attr.status(), text);
    op.attr_defs.push_back(std::move(*attr));
  }
  for (const std::string& text : op.inputs) {
    auto arg = parse_arg(text, op.attr_defs);
    if (!arg.ok()) return named(arg.status(), text);
    op.input_args.push_back(std::move(*arg));
  }
  for (const std::string& text : op.outputs) {
    auto arg = parse_arg(text, op.attr_defs);
    if (!arg.ok()) return named(arg.status(), text);
    op.output_args.push_back(std::move(*arg));
  }
  if (!op.sharding.empty()) {
    if (op.sharding_rule != nullptr) return internal_error("op ", op.name, ": both a sharding text and a function");
    ARGOSY_RETURN_IF_ERROR(check_sharding_text(op, op.sharding));
  }
  return op;
}

}  // namespace argosy
