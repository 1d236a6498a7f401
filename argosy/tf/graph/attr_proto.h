// Converts attributes to and from TensorFlow's AttrValue. Internal to argosy/tf. The messages are only
// forward-declared.
#pragma once

#include <functional>
#include <string>

#include "argosy/op/definition/op_def.h"

namespace tensorflow {
class AttrValue;
class NameAttrList;
}  // namespace tensorflow

namespace argosy::tf {

// Returns the name in our graph of a function that an attribute refers to. The reference's own attributes (type
// parameters) select the function, too. Null: the name is taken unchanged.
using FunctionNamer = std::function<Result<std::string>(const tensorflow::NameAttrList&)>;

// Larger constants are refused before any memory is allocated: a value list of one element can describe a tensor of any
// size. Smaller constants that are larger than their message count in the budget of host memory.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr std::int64_t kMostConstantBytes = 1 << 20;
#else
inline constexpr std::int64_t kMostConstantBytes = std::int64_t{4} << 30;
#endif

// Converts an AttrValue to the kind that `def` asks for. `def` null (an attribute that no op defines): to the kind that
// the message holds. An AttrValue without a value becomes a std::monostate.
Result<AttrValue> from_proto(const tensorflow::AttrValue& proto, const AttrDef* def, const FunctionNamer& namer);

// A std::monostate becomes an AttrValue without a value.
Status to_proto(const AttrValue& value, tensorflow::AttrValue* proto);

// Returns the kind as op definitions spell it: "int", "list(type)".
std::string_view kind_name(AttrKind kind);

}  // namespace argosy::tf
