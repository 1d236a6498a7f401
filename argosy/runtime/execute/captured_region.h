// Runs a capture region (argosy/runtime/compile/capture_regions.h). While it is new, it runs instruction by
// instruction. When it has settled, it is captured. From then on it is replayed, as long as
//
// * everything it reads and writes is where it was, in the shape that it had;
// * nobody else holds the value of a variable that it writes in place: a reader's tensor never changes under it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "argosy/device/graph_capturer.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

struct RunState;

// Where a captured graph reads or writes a value, and of which shape: both are part of its launches. The last batch of
// an epoch may lie where the others lay, and be smaller.
struct CapturedPlace {
  const void* data = nullptr;  // null: a variable without a value
  Shape shape;
  friend bool operator==(const CapturedPlace&, const CapturedPlace&) = default;
};

// Of one capture region in one RunState.
struct CapturedRegion {
  std::unique_ptr<CapturedGraph> graph;
  std::vector<CapturedPlace> places;  // of everything when it was captured
  std::vector<char> written;          // by position in CaptureRegion::handles: a variable that it writes
  int seen = 0;                       // runs without a captured graph
  int dropped = 0;                    // captured graphs that did not last, one after the other
};

inline constexpr int kRunsBeforeCapture = 2;   // the first ones make variables, workspaces and caches
inline constexpr int kMaxDroppedCaptures = 3;  // then it is left alone

struct RegionCallbacks {
  std::function<Status(std::int32_t instruction)> wait;  // for what the instruction waits for
  std::function<Status(std::int32_t instruction)>
      run;  // its kernel; it lets go of what the instruction is the last to use
  std::function<void(std::int32_t instruction)> let_go;  // the latter alone
};

// Runs capture region k of device d. False: nothing but waiting was done, and it is to be run instruction by
// instruction. An error names the node. Called by the compute stream's thread.
Result<bool> run_captured(const Step& step, RunState& state, int d, std::size_t k, GraphCapturer& capturer,
                          const RegionCallbacks& calls);

}  // namespace argosy
