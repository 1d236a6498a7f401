// NCCL that is not there, for tests: its functions over the fake GPUs. A collective is an operation in the order of
// each rank's stream that waits for those of the other ranks, as NCCL's kernels do; the last to come does the work. It
// can hang, fail, bring wrong data, and be of any version. One at a time in a process, over fake::FakeDriver. Thread-safe.
#pragma once

#include <memory>

#include "argosy/comm/nccl/nccl.h"
#include "argosy/device/cuda/fake/fake_driver.h"

namespace argosy::cuda::fake {

struct NcclFaults {
  int version = 22809;
  bool init_fails = false;
  bool init_hangs = false;  // communicators never come
  bool lies = false;        // the first element of every sum is wrong
  int missing = 0;          // 1: no ncclCommInitRankConfig; 2: no ncclAllReduce
};

class FakeNccl {
 public:
  explicit FakeNccl(const NcclFaults& faults = {});
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  const NcclCalls& calls() const;
  // From the next collective on this rank does not come; until abort.
  void hang(int rank);
  // What ncclCommGetAsyncError says of every communicator from now on.
  void break_down(int result);

  int collectives() const;    // that were done
  int communicators() const;  // that are there
  int aborts() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda::fake
