#include "argosy/tf/graph/functions/function_library.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/attr_proto.h"

namespace argosy::tf {

namespace {

constexpr std::int64_t kMostInList = 1 << 16;

std::uint64_t fingerprint(const tensorflow::FunctionDef& def) { return std::hash<std::string>()(canonical_bytes(def)); }

Status not_equal(std::string_view name) {
  return invalid_argument("Cannot add function '", name,
                          "' because a different function with the same name already exists.")
      .with_id("ARG-IMPORT-010");
}

Result<std::vector<DType>> dtypes_of(const tensorflow::OpDef::ArgDef& arg, const AttrBindings& bindings) {
  const auto value = [&](const std::string& attr, AttrKind kind) -> Result<AttrValue> {
    const auto found = bindings.find(attr);
    if (found == bindings.end()) {
      return invalid_argument("\"", arg.name(), "\" needs the function's attribute ", attr).with_id("ARG-IMPORT-011");
    }
    AttrDef wanted;
    wanted.kind = kind;
    auto converted = from_proto(found->second, &wanted, {});
    if (converted.ok() && converted->index() == static_cast<std::size_t>(kind) + 1) return converted;
    return invalid_argument("the function's attribute ", attr, " is not a ", kind_name(kind)).with_id("ARG-IMPORT-011");
  };
  if (!arg.type_list_attr().empty()) {
    ARGOSY_ASSIGN_OR_RETURN(AttrValue list, value(arg.type_list_attr(), AttrKind::kTypes));
    return std::get<std::vector<DType>>(std::move(list));
  }
  DType dtype = DType::kInvalid;
  if (!arg.type_attr().empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const AttrValue type, value(arg.type_attr(), AttrKind::kType));
    dtype = std::get<DType>(type);
  } else if (arg.type() > 0 && arg.type() <= static_cast<int>(DType::kUint64)) {
    dtype = static_cast<DType>(arg.type());
  } else {
    return unimplemented("\"", arg.name(), "\" has type number ", static_cast<int>(arg.type()))
        .with_id("ARG-IMPORT-004");
  }
  if (arg.number_attr().empty()) return std::vector<DType>{dtype};
  ARGOSY_ASSIGN_OR_RETURN(const AttrValue number, value(arg.number_attr(), AttrKind::kInt));
  const auto count = std::get<std::int64_t>(number);
  if (count < 0 || count > kMostInList) {
    return invalid_argument("\"", arg.name(), "\" has ", count, " values").with_id("ARG-IMPORT-011");
  }
  return std::vector<DType>(static_cast<std::size_t>(count), dtype);
}

}  // namespace

std::string canonical_bytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes((message.ByteSizeLong(), &out));
  out.Trim();
  return bytes;
}

Result<FunctionSignature> function_signature(const tensorflow::FunctionDef& function, const AttrBindings& bindings) {
  FunctionSignature signature;
  signature.is_stateful = function.signature().is_stateful();
  const auto read = [&](const auto& args, std::vector<FunctionSignature::Arg>& to) -> Status {
    for (const auto& arg : args) {
      ARGOSY_ASSIGN_OR_RETURN(auto dtypes, dtypes_of(arg, bindings));
      const bool list = !arg.number_attr().empty() || !arg.type_list_attr().empty();
      to.push_back({arg.name(), std::move(dtypes), list, arg.is_ref()});
    }
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(read(function.signature().input_arg(), signature.inputs));
  ARGOSY_RETURN_IF_ERROR(read(function.signature().output_arg(), signature.outputs));
  return signature;
}

FunctionLibrary::FunctionLibrary(const OpRegistry& ops) : ops_(ops) {}
FunctionLibrary::~FunctionLibrary() = default;

Status FunctionLibrary::check(const tensorflow::FunctionDefLibrary& library) const {
  std::map<std::string_view, std::uint64_t> seen;
  for (const auto& def : library.function()) {
    const std::string& name = def.signature().name();
    if (name.empty()) return invalid_argument("a function without a name").with_id("ARG-IMPORT-010");
    if (ops_.find(name) != nullptr) {
      return invalid_argument("Cannot add function '", name, "' because an op with the same name already exists.")
          .with_id("ARG-IMPORT-010");
    }
    const std::uint64_t print = fingerprint(def);
    const auto [twin, fresh] = seen.emplace(name, print);
    if (!fresh && twin->second != print) return not_equal(name);
    const auto known = fingerprints_.find(name);
    if (known != fingerprints_.end() && known->second != print) return not_equal(name);
  }
  for (const auto& def : library.gradient()) {
    const auto known = gradients_.find(def.function_name());
    if (known != gradients_.end() && known->second != def.gradient_func()) {
      return invalid_argument("Cannot assign gradient function '", def.gradient_func(), "' to '", def.function_name(),
                              "' because it already has gradient function '", known->second, "'")
          .with_id("ARG-IMPORT-010");
    }
  }
  return ok_status();
}

void FunctionLibrary::add(const tensorflow::FunctionDefLibrary& library, int producer) {
  for (const auto& def : library.function()) {
    if (by_name_.contains(def.signature().name())) continue;
    defs_.push_back(def);
    const std::string& name = defs_.back().signature().name();
    by_name_.emplace(name, defs_.size() - 1);
    producers_.emplace(name, producer);
    fingerprints_.emplace(name, fingerprint(def));
  }
  for (const auto& def : library.gradient()) gradients_.emplace(def.function_name(), def.gradient_func());
}

const tensorflow::FunctionDef* FunctionLibrary::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &defs_[found->second];
}

const std::string* FunctionLibrary::gradient_of(std::string_view function) const {
  const auto found = gradients_.find(function);
  return found == gradients_.end() ? nullptr : &found->second;
}

bool FunctionLibrary::lacks_ops(const std::string& function) {
  std::vector<std::string> names = {function};  // it and all that it leads to
  std::unordered_set<std::string> seen(names.begin(), names.end());
  const auto name = [&](const std::string& other) {
    if (seen.insert(other).second) names.push_back(other);
  };
  const auto [known, fresh] = lacking_.try_emplace(function, false);
  if (!fresh) return known->second;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tensorflow::FunctionDef* const def = find(names[i]);
    if (def == nullptr) continue;
    for (const auto& node : def->node_def()) {
      if (find(node.op()) != nullptr) {
        name(node.op());
      } else if (ops_.find(node.op()) == nullptr) {
        return known->second = true;
      }
      for (const auto& [attr, value] : node.attr()) {
        if (value.has_func()) name(value.func().name());
        for (const auto& one : value.list().func()) name(one.name());
      }
    }
  }
  return false;
}

}  // namespace argosy::tf
