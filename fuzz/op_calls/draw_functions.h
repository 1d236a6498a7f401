// Functions for attributes of kind func: what they take and give follows from the op's other attributes, mostly.
#pragma once

#include "fuzz/op_calls/draw_attrs.h"
#include "fuzz/op_calls/op_call.h"

namespace argosy::op_calls {

void draw_functions(OpCall& call, const Common& common, RandomDraws& draws);

}  // namespace argosy::op_calls
