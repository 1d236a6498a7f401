// Attributes and TensorFlow's AttrValue. Internal to argosy/tf: the messages are known here by name only.
#pragma once

#include <functional>
#include <string>

#include "argosy/op/definition/op_def.h"

namespace tensorflow {
class AttrValue;
class NameAttrList;
}  // namespace tensorflow

namespace argosy::tf {

// The name by which the graph will know a function that an attribute names; the attributes of its own that come with
// it are part of that name. Null: the name as it is.
using FunctionNamer = std::function<Result<std::string>(const tensorflow::NameAttrList&)>;

// Constants above this are refused before any memory is taken: a list of one value may stand for any number of them.
// Smaller ones that are larger than their message are counted in the budget of host memory.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::int64_t kMostConstantBytes = 1 << 20;
#else
inline constexpr std::int64_t kMostConstantBytes = std::int64_t{4} << 30;
#endif

// As the kind that the definition wants; without one (attributes that no op knows), as the kind it has. An absent value
// is a std::monostate.
Result<AttrValue> from_proto(const tensorflow::AttrValue& proto, const AttrDef* def, const FunctionNamer& namer);

// A std::monostate becomes an AttrValue without a value.
Status to_proto(const AttrValue& value, tensorflow::AttrValue* proto);

// "int", "list(type)": as op definitions spell it.
std::string_view kind_name(AttrKind kind);

}  // namespace argosy::tf
