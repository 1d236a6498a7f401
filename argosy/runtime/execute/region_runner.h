// RegionRunner: the capture regions of one device during one run. Each is run whole (replayed, or captured first), or
// left to the walk, which runs it instruction by instruction.
#pragma once

#include <cstdint>

#include "argosy/device/graph_capturer.h"
#include "argosy/runtime/execute/static_run.h"

namespace argosy {

class RegionRunner {
 public:
  // `capturer`: null where nothing is captured. `fields`: those of the device's walk. Both outlive it.
  RegionRunner(StaticRun& run, int d, GraphCapturer* capturer, KernelContext::Fields& fields)
      : run_(run), d_(d), capturer_(capturer), fields_(fields) {
    set_next();
  }

  // The position at which the next region begins; SIZE_MAX: there is none.
  std::size_t next() const { return next_; }
  // Runs the region at next(). REQUIRES: there is one. True: it was run, and `at` is its last position. False: no
  // kernel was started, and the caller runs the region instruction by instruction. `stats` may be null.
  Result<bool> run(std::size_t& at, StepStats* stats);

 private:
  void set_next();
  Result<bool> run_region();
  Status wait(std::int32_t index);
  Status run_instruction(std::int32_t index);
  void release(std::int32_t index);

  StaticRun& run_;
  const int d_;
  GraphCapturer* const capturer_;
  KernelContext::Fields& fields_;
  std::size_t region_ = 0;
  std::size_t next_ = SIZE_MAX;
};

}  // namespace argosy
