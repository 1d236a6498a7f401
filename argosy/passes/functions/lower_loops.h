// While and For as dataflow: a loop of Enter, Merge, Switch, NextIteration and Exit.
//
//   y = While(x) [cond=c, body=b]     ──►     Enter(x) ─► Merge ─► Switch(c) ─► b ─► NextIteration ─┐
//                                                           ▲          └► Exit ─► y                 │
//                                                           └───────────────────────────────────────┘
//
// Values that the body returns unchanged (loop invariants) enter the loop once, by constant Enters. Internal to
// argosy/passes/functions.
#pragma once

#include "argosy/passes/functions/caller.h"

namespace argosy::lowering {

Status lower_while(Caller& caller);
// For: the condition tests a counter of the iterations left.
Status lower_for(Caller& caller);

}  // namespace argosy::lowering
