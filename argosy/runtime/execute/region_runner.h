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

  // Where in the order the next region begins; beyond every position where there is none.
  std::size_t next() const { return next_; }
  // The region at next(), of which there is one. True: it was run, and `at` is its last position. False: nothing but
  // waiting was done, and it is to be run instruction by instruction. `stats` may be null.
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
