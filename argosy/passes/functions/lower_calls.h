// Calls as dataflow: the body in place of the call.
//
//   y = PartitionedCall(x) [f]        ──►     f(x)
//   y = RemoteCall("/gpu:1", x) [f]   ──►     f(x), on that device
//
// Internal to argosy/passes/functions.
#pragma once

#include "argosy/passes/functions/caller.h"

namespace argosy::lowering {

Status lower_call(Caller& caller);
// Where the device is not known before the step, the body runs where its caller does: handles are found from there.
Status lower_call_on(Caller& caller);
// Lowers the caller to a call of function `name` with these arguments.
Status lower_call_to(Caller& caller, const std::string& name, std::vector<Endpoint> args);

}  // namespace argosy::lowering
