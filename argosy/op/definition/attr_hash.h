// A hash of attributes, to find nodes that are alike.
#pragma once

#include <cstddef>

#include "argosy/op/definition/attr.h"

namespace argosy {

// Equal for equal values; of tensors only dtype and shape count.
std::size_t hash_attr(const AttrValue& value);

}  // namespace argosy
