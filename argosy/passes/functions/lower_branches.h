// If and Case as dataflow: a Switch for each input, the branches, a Merge for each output.
//
//   y = If(p, x) [then=f, else=g]     ──►     Switch(x, p) ─► f ─┐
//                                                          └► g ─┴► Merge ─► y
//
// Case asks one question after the other: is it branch 0, is it branch 1, ... else the last. Internal to
// argosy/passes/functions.
#pragma once

#include "argosy/passes/functions/caller.h"

namespace argosy::lowering {

Status lower_if(Caller& caller);
// INVALID_ARGUMENT "ARG-FN-010" where there are no branches.
Status lower_case(Caller& caller);

}  // namespace argosy::lowering
