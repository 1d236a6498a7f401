// Finds capture regions: instructions of a device's order that start the same work in every run. A region may be
// captured once and replayed as a whole (argosy/device/graph_capturer.h). This file decides what is captured;
// argosy/runtime/execute/captured_region.h captures and replays it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/runtime/step/step.h"

namespace argosy {

// A region of fewer instructions is as fast without a capture.
inline constexpr std::int32_t kMinCaptured = 4;

// Fills in StaticPlan::capture_regions, for devices with a graph capturer. Returns a line for each of them that has
// instructions. The line says what is captured and why the rest is not ("captured: gpu:0: 41 of 44 instructions in 1
// capture region; 'x': a copy"). $ARGOSY_CUDA_GRAPHS=0 switches it off. A step with loops or phases has no regions. In
// both cases every such device has a line that says so. A step of the dataflow executor has no lines.
//
// An instruction may be in a capture region if
//   1. it runs a kernel that is capturable(), is not asynchronous, and cannot be dead;
//   2. what it reads on the host is the same in every run: constants and handles;
//   3. each output is a handle, or a tensor in the device's memory whose shape or place is planned. A handle, a view or
//      another output without a place is read only inside the region;
//   4. it waits only for what stands before the region in the same device's order; the first instruction may wait for
//      anything. An instruction that others wait for is the last: they wait for the end of the region.
std::vector<std::string> find_capture_regions(Step& step);

}  // namespace argosy
