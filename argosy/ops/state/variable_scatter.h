// The rows of state.cc's tables that belong to scatter and gather; internal to the family.
#pragma once

#include "argosy/op/definition/registry.h"

namespace argosy::state {

void define_scatter(OpRegistry& ops);

}  // namespace argosy::state
