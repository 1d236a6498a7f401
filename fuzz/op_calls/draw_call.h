// A call of an op, drawn from its definition.
#pragma once

#include <span>

#include "argosy/testing/op_cases/recorded_case.h"
#include "fuzz/op_calls/op_call.h"

namespace argosy::op_calls {

// The same call for the same op and seed (and the same recorded cases of that op, of which some calls are made by
// changes).
std::shared_ptr<OpCall> draw_call(const OpDef& op, std::uint64_t seed, std::span<const RecordedCase> recorded);

// A recorded case, a little changed.
class RandomDraws;
std::shared_ptr<OpCall> change_recorded(const OpDef& op, const RecordedCase& c, RandomDraws& draws);

}  // namespace argosy::op_calls
