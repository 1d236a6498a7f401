// While and For as dataflow: a loop of Enter, Merge, Switch, NextIteration and Exit.
//
//   y = While(x) [cond=c, body=b]     ──►     Enter(x) ─► Merge ─► Switch(c) ─► b ─► NextIteration ─┐
//                                                           ▲          └► Exit ─► y                 │
//                                                           └───────────────────────────────────────┘
//
// Values that the body returns as it got them are entered once, as constants of the loop. Internal to
// argosy/passes/functions.
#pragma once

#include "argosy/passes/functions/caller.h"

namespace argosy::lowering {

Status lower_while(Caller& caller);
// A loop that counts, whose condition is a number of iterations left.
Status lower_for(Caller& caller);

}  // namespace argosy::lowering
