// Running a stretch (argosy/runtime/compile/capture_regions.h): as it stands while it is new, recorded when it has settled, repeated
// from then on as long as everything it reads and writes is where it was.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "argosy/device/graph_capturer.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

struct RunState;

// Of one stretch in one RunState.
struct RecordedStretch {
  std::unique_ptr<Recording> recording;
  std::vector<const void*> places;  // where everything was when it was recorded
  int seen = 0;                     // runs without a recording
  int dropped = 0;                  // recordings that did not last, one after the other
};

inline constexpr int kRunsBeforeRecording = 2;  // the first ones make variables, workspaces and caches
inline constexpr int kMostDropped = 3;          // then it is left alone

struct StretchCalls {
  std::function<Status(std::int32_t item)> wait;  // for what the item waits for
  std::function<Status(std::int32_t item)> run;   // its kernel; it lets go of what the item is the last to use
  std::function<void(std::int32_t item)> let_go;  // the latter alone
};

// Stretch k of device d. False: it was not run, nor anything of it but waiting, and is to be run item by item. An error
// names the node. Called by the compute stream's thread.
Result<bool> run_recorded(const Step& step, RunState& state, int d, std::size_t k, Recorder& recorder,
                          const StretchCalls& calls);

}  // namespace argosy
