// If and Case as dataflow: a Switch for each input, the branches, a Merge for each output.
//
//   y = If(p, x) [then=f, else=g]     ──►     Switch(x, p) ─► f ─┐
//                                                          └► g ─┴► Merge ─► y
//
// A Case becomes a chain of such tests: is the index 0, is it 1, …, else the last branch. Internal to
// argosy/passes/functions.
#pragma once

#include "argosy/passes/functions/caller.h"

namespace argosy::lowering {

Status lower_if(Caller& caller);
// INVALID_ARGUMENT "ARG-FN-010": there are no branches.
Status lower_case(Caller& caller);

}  // namespace argosy::lowering
