// The texts of an assignment: why a layout changes, why a node is computed whole. Internal to resolve/.
#pragma once

#include <string>

#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

// Says why `use` needs the placement `to` of a value that has `from`.
std::string why_needed(const AxisState& state, Graph::Use use, const Placement& from, const Placement& to);
// Says why the node is computed whole.
std::string why_whole(const AxisState& state, NodeId id);

}  // namespace argosy
