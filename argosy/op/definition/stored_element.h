// What an op puts into a container: a stack, an array, a list. Its sharding rule says so: "e.., t, t e.., - -> -; …" puts input 2,
// of which the dimensions after the first are an element's.
#pragma once

#include <optional>

#include "argosy/op/definition/op_def.h"

namespace argosy {

struct StoredElement {
  int input = 0;    // input 0 is the container's handle, or the list
  int leading = 0;  // dimensions before those of an element
};

// Nothing: it puts nothing into a container, or its rule does not say what.
std::optional<StoredElement> stored_element(const OpDef& op);

}  // namespace argosy
