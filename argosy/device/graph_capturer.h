// What a launch queue may be as well (dynamic_cast): able to capture what is started, and to start it again as a whole
// (CUDA graphs). Used by the compute stream's thread alone.
#pragma once

#include <memory>

#include "argosy/base/status.h"

namespace argosy {

// What was captured. Refers to the places in memory that it was captured with: whoever replays it must know that they
// are the same. Keeps the memory that was allocated and freed meanwhile. May outlive its device.
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
  // The memory it keeps is within the device's cap. Where it is not, it may be replayed once and must go then.
  virtual bool fits() const = 0;
};

class GraphCapturer {
 public:
  virtual ~GraphCapturer() = default;
  // From here on work is written down, not started; nobody waits for any of it.
  virtual Status begin() = 0;
  // Ends that. The captured graph is `last` brought up to date where the work is of the same form, which is cheaper than a
  // new one. An error: what was written down is lost, and nothing of it was started.
  virtual Result<std::unique_ptr<CapturedGraph>> end(std::unique_ptr<CapturedGraph> last) = 0;
  // As end(), after an error of one's own: what was written down is thrown away.
  virtual void give_up() = 0;
  // Starts all of it, in order with what else is started.
  virtual Status replay(const CapturedGraph& captured) = 0;
};

}  // namespace argosy
