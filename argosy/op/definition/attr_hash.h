// hash_attr(): a hash of attribute values, to find equal nodes.
#pragma once

#include <cstddef>

#include "argosy/op/definition/attr.h"

namespace argosy {

// Equal values have equal hashes. A tensor's hash depends only on its dtype and shape.
std::size_t hash_attr(const AttrValue& value);

}  // namespace argosy
