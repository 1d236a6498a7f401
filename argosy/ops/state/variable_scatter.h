// Ops that scatter into variables, and gather from them: definitions, shapes, gradients. Internal to the family.
#pragma once

#include "argosy/op/definition/registry.h"

namespace argosy::state {

void define_scatter_and_gather(OpRegistry& ops);

}  // namespace argosy::state
