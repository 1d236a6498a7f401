// Runs a capture region (argosy/runtime/compile/capture_regions.h). The first runs go instruction by instruction. Then
// the region is captured, and later runs replay the captured graph. Two checks come before each replay:
//
// * An address or a shape has changed: the region is captured again. After kMaxInvalidations in a row it is not
//   captured any more.
// * Somebody else refers to the buffer of a variable that is updated in place: this run goes instruction by
//   instruction, so that no reader's tensor changes. The graph is kept.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "argosy/device/graph_capturer.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

struct RunState;

// An address and a shape that a captured graph uses. Both are baked into the parameters of its launches. The last batch
// of an epoch may have the address of the others, but a smaller shape.
struct CapturedPlace {
  const void* data = nullptr;  // null: a variable without a value
  Shape shape;
  friend bool operator==(const CapturedPlace&, const CapturedPlace&) = default;
};

// The state of one capture region in one RunState.
struct CapturedRegion {
  std::unique_ptr<CapturedGraph> graph;
  std::vector<CapturedPlace> places;  // of variables, arena and inputs, when it was captured
  std::vector<char> written;          // by position in CaptureRegion::handles: a variable that it writes
  int warm_up_runs = 0;
  int invalidations = 0;  // of captured graphs, since the last replay
};

inline constexpr int kWarmUpRuns = 2;        // these make variables, workspaces and caches
inline constexpr int kMaxInvalidations = 3;  // then capturing is off for good

struct RegionCallbacks {
  std::function<Status(std::int32_t instruction)> wait;  // for what the instruction waits for
  // Runs its kernel, and releases the tensors that the instruction is the last to use.
  std::function<Status(std::int32_t instruction)> run;
  std::function<void(std::int32_t instruction)> release;  // the tensors alone
};

// Runs capture region k of device d. False: no kernel was started, and the caller runs the region instruction by
// instruction. An error of a kernel names its node; one of the capturer does not. Called by the compute stream's
// thread.
Result<bool> run_captured(const Step& step, RunState& state, int d, std::size_t k, GraphCapturer& capturer,
                          const RegionCallbacks& calls);

}  // namespace argosy
