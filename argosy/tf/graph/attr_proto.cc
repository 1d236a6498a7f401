#include "argosy/tf/graph/attr_proto.h"

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"

namespace argosy::tf {

namespace {

using Proto = tensorflow::AttrValue;

Result<DType> type_of(int number) {
  if (number > 0 && number <= static_cast<int>(DType::kUint64)) return static_cast<DType>(number);
  return unimplemented("type number ", number, " is not supported").with_id("ARG-IMPORT-004");
}

Result<FunctionRef> function_of(const tensorflow::NameAttrList& func, const FunctionNamer& namer) {
  if (!namer) return FunctionRef{func.name()};
  ARGOSY_ASSIGN_OR_RETURN(std::string name, namer(func));
  return FunctionRef{std::move(name)};
}

// Elements of a list, each converted.
template <typename T, typename List, typename Convert>
Result<AttrValue> list_of(const List& list, Convert&& convert) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(list.size()));
  for (const auto& element : list) {
    Result<T> value = convert(element);
    if (!value.ok()) return std::move(value).status();
    values.push_back(*std::move(value));
  }
  return AttrValue(std::move(values));
}

AttrKind kind_of_list(const Proto::ListValue& list) {
  if (list.s_size() > 0) return AttrKind::kStrings;
  if (list.f_size() > 0) return AttrKind::kFloats;
  if (list.b_size() > 0) return AttrKind::kBools;
  if (list.type_size() > 0) return AttrKind::kTypes;
  if (list.shape_size() > 0) return AttrKind::kShapes;
  if (list.tensor_size() > 0) return AttrKind::kTensors;
  if (list.func_size() > 0) return AttrKind::kFunctions;
  return AttrKind::kInts;
}

std::optional<AttrKind> kind_of(const Proto& proto) {
  switch (proto.value_case()) {
    case Proto::kList: return kind_of_list(proto.list());
    case Proto::kS: return AttrKind::kString;
    case Proto::kI: return AttrKind::kInt;
    case Proto::kF: return AttrKind::kFloat;
    case Proto::kB: return AttrKind::kBool;
    case Proto::kType: return AttrKind::kType;
    case Proto::kShape: return AttrKind::kShape;
    case Proto::kTensor: return AttrKind::kTensor;
    case Proto::kFunc: return AttrKind::kFunction;
    default: return std::nullopt;
  }
}

bool is_list(AttrKind kind) { return kind >= AttrKind::kInts; }

bool is_empty(const Proto::ListValue& list) {
  return list.s_size() + list.i_size() + list.f_size() + list.b_size() + list.type_size() + list.shape_size() +
             list.tensor_size() + list.func_size() ==
         0;
}

Result<AttrValue> list_value(const Proto::ListValue& list, AttrKind kind, const FunctionNamer& namer) {
  switch (kind) {
    case AttrKind::kInts: return AttrValue(std::vector<std::int64_t>(list.i().begin(), list.i().end()));
    case AttrKind::kFloats: return AttrValue(std::vector<float>(list.f().begin(), list.f().end()));
    case AttrKind::kBools: return AttrValue(std::vector<bool>(list.b().begin(), list.b().end()));
    case AttrKind::kStrings: return AttrValue(std::vector<std::string>(list.s().begin(), list.s().end()));
    case AttrKind::kTypes: return list_of<DType>(list.type(), [](int number) { return type_of(number); });
    case AttrKind::kShapes: return list_of<PartialShape>(list.shape(), [](const auto& s) { return from_proto(s); });
    case AttrKind::kTensors:
      return list_of<Tensor>(list.tensor(),
                             [](const auto& t) { return from_proto(t, kMostConstantBytes, HostUse::kGraphs); });
    default: return list_of<FunctionRef>(list.func(), [&](const auto& f) { return function_of(f, namer); });
  }
}

struct AttrProtoWriter {
  Proto* to;

  Status operator()(std::monostate) const { return ok_status(); }
  Status operator()(std::int64_t v) const { return to->set_i(v), ok_status(); }
  Status operator()(float v) const { return to->set_f(v), ok_status(); }
  Status operator()(bool v) const { return to->set_b(v), ok_status(); }
  Status operator()(const std::string& v) const { return to->set_s(v), ok_status(); }
  Status operator()(DType v) const { return to->set_type(static_cast<tensorflow::DataType>(v)), ok_status(); }
  Status operator()(const PartialShape& v) const { return to_proto(v, to->mutable_shape()), ok_status(); }
  Status operator()(const Tensor& v) const { return to_proto(v, to->mutable_tensor()); }
  Status operator()(const FunctionRef& v) const { return to->mutable_func()->set_name(v.name), ok_status(); }

  template <typename T>
  Status operator()(const std::vector<T>& values) const {
    to->mutable_list();  // present even when it is empty
    for (const T& v : values) ARGOSY_RETURN_IF_ERROR(add(v));
    return ok_status();
  }
  Status operator()(const std::vector<bool>& values) const {
    to->mutable_list();
    for (const bool v : values) to->mutable_list()->add_b(v);
    return ok_status();
  }

 private:
  Status add(std::int64_t v) const { return to->mutable_list()->add_i(v), ok_status(); }
  Status add(float v) const { return to->mutable_list()->add_f(v), ok_status(); }
  Status add(const std::string& v) const { return to->mutable_list()->add_s(v), ok_status(); }
  Status add(DType v) const { return to->mutable_list()->add_type(static_cast<tensorflow::DataType>(v)), ok_status(); }
  Status add(const PartialShape& v) const { return to_proto(v, to->mutable_list()->add_shape()), ok_status(); }
  Status add(const Tensor& v) const { return to_proto(v, to->mutable_list()->add_tensor()); }
  Status add(const FunctionRef& v) const { return to->mutable_list()->add_func()->set_name(v.name), ok_status(); }
};

}  // namespace

std::string_view kind_name(AttrKind kind) {
  constexpr std::string_view kNames[] = {"int",        "float",       "bool",         "string",
                                         "type",       "shape",       "tensor",       "func",
                                         "list(int)",  "list(float)", "list(bool)",   "list(string)",
                                         "list(type)", "list(shape)", "list(tensor)", "list(func)"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<AttrValue> from_proto(const Proto& proto, const AttrDef* def, const FunctionNamer& namer) {
  const std::optional<AttrKind> has = kind_of(proto);
  if (!has) return AttrValue();
  AttrKind kind = *has;
  if (def != nullptr && def->kind != kind) {
    // A list without elements is of any kind.
    if (!is_list(def->kind) || proto.value_case() != Proto::kList || !is_empty(proto.list())) {
      return invalid_argument("is a ", kind_name(kind), ", not a ", kind_name(def->kind)).with_id("ARG-IMPORT-003");
    }
    kind = def->kind;
  }
  switch (kind) {
    case AttrKind::kInt: return AttrValue(proto.i());
    case AttrKind::kFloat: return AttrValue(proto.f());
    case AttrKind::kBool: return AttrValue(proto.b());
    case AttrKind::kString: return AttrValue(proto.s());
    case AttrKind::kType: {
      ARGOSY_ASSIGN_OR_RETURN(const DType dtype, type_of(proto.type()));
      return AttrValue(dtype);
    }
    case AttrKind::kShape: {
      ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, from_proto(proto.shape()));
      return AttrValue(std::move(shape));
    }
    case AttrKind::kTensor: {
      ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, from_proto(proto.tensor(), kMostConstantBytes, HostUse::kGraphs));
      return AttrValue(std::move(tensor));
    }
    case AttrKind::kFunction: {
      ARGOSY_ASSIGN_OR_RETURN(FunctionRef function, function_of(proto.func(), namer));
      return AttrValue(std::move(function));
    }
    default: return list_value(proto.list(), kind, namer);
  }
}

Status to_proto(const AttrValue& value, Proto* proto) { return std::visit(AttrProtoWriter{proto}, value); }

}  // namespace argosy::tf
