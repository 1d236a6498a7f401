// Finds capture regions: instructions of a device's order that start the same work in every run. A region may be
// captured once and replayed as a whole (argosy/device/graph_capturer.h). What decides is all here;
// argosy/runtime/execute/captured_region.h does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/runtime/step/step.h"

namespace argosy {

// Fewer instructions are started one by one as fast.
inline constexpr std::int32_t kMinCaptured = 4;

// Fills in StaticPlan::capture_regions, for devices with a graph capturer. Returns a line for each of them that says
// what is captured and why the rest is not ("captured: gpu:0: 41 of 44 instructions in 1 capture region; 'x': a copy").
// No line where nothing can be captured anywhere. $ARGOSY_CUDA_GRAPHS=0 switches it off.
//
// An instruction may be in a capture region if
//   1. its kernel says that it is capturable(), and it neither blocks nor may be passed over;
//   2. what it reads on the host is the same in every run: constants and handles;
//   3. what it writes has its place in the plan, or is a view or a handle that nobody outside the capture region reads;
//   4. whoever waits for it waits for the end of the capture region: it is the last; and it waits for nothing, or only
//      for what stands before the capture region in the same device's order.
std::vector<std::string> find_capture_regions(Step& step);

}  // namespace argosy
