// Stretches of a device's order that start the same work in every run, so that it may be recorded once and repeated as
// a whole (argosy/device/graph_capturer.h). What decides is all here: argosy/runtime/execute/captured_region.h does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/runtime/step/step.h"

namespace argosy {

// Fewer items are started one by one as fast.
inline constexpr std::int32_t kLeastRecorded = 4;

// Fills in Step::stretches, for devices with a recorder, and returns a line for each of them that says what is recorded
// and why the rest is not ("recorded: gpu:0: 41 of 44 items in 1 stretch; 'x': a copy"). No line where nothing can be
// recorded anywhere. $ARGOSY_CUDA_GRAPHS=0 switches it off.
//
// An item may be in a stretch if
//   1. its kernel says that it is repeatable(), and it neither blocks nor may be passed over;
//   2. what it reads on the host is the same in every run: constants and handles;
//   3. what it writes has its place in the plan, or is a view or a handle that nobody outside the stretch reads;
//   4. whoever waits for it waits for the end of the stretch: it is the last; and it waits for nothing, or only for
//   what
//      stands before the stretch in the same device's order.
std::vector<std::string> find_stretches(Step& step);

}  // namespace argosy
