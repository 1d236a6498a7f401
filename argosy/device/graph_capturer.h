// GraphCapturer: captures the work of a step once and replays it as one unit (CUDA graphs). A LaunchQueue may implement
// it; callers find it by dynamic_cast. Thread: the compute stream's alone.
#pragma once

#include <memory>

#include "argosy/base/status.h"

namespace argosy {

// A captured graph. It holds the addresses of the capture: a caller may replay it only while they are still valid. It
// keeps the memory that was allocated and freed during the capture, and until the first replay what was only freed
// during it. May outlive its device.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // Whether its memory fits into the device's cap. If not, it may be replayed once and must then be destroyed.
  virtual bool fits() const = 0;
};

class GraphCapturer {
 public:
  virtual ~GraphCapturer() = default;
  // Starts a capture: from here on work is recorded, not started. Nobody may wait for it.
  virtual Status begin() = 0;
  // Ends the capture. Updates and returns `last` (may be null) where the work has the same form, which costs less than
  // a new graph. On an error the recorded work is lost, and none of it was started.
  virtual Result<std::unique_ptr<CapturedGraph>> end(std::unique_ptr<CapturedGraph> last) = 0;
  // Ends the capture after an error of the caller. The recorded work is lost.
  virtual void abort_capture() = 0;
  // Starts all recorded work, in order with other enqueued work. Memory that was freed during the capture is free after
  // the first replay, which reads it.
  virtual Status replay(CapturedGraph& captured) = 0;
};

}  // namespace argosy
