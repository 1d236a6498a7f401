// stored_element(): the input that an op stores into a container (a stack, an array, a list). Its sharding rule tells:
// "e.., t, t e.., - -> -; …" stores input 2, whose dimensions after the first are those of an element.
#pragma once

#include <optional>

#include "argosy/op/definition/op_def.h"

namespace argosy {

struct StoredElement {
  int input = 0;    // the stored input; input 0 is the container's handle, or the list
  int leading = 0;  // dimensions before those of an element
};

// nullopt: the op stores nothing, or its rule does not tell what.
std::optional<StoredElement> stored_element(const OpDef& op);

}  // namespace argosy
