// A fake NCCL for tests, over fake::FakeDriver. A collective is an operation on each rank's stream. It waits for the
// operations of the other ranks, as NCCL's kernels do; the last to arrive does the work. The fake can hang, fail, give
// wrong data and report any version. At most one lives in a process. Thread-safe.
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
  // From the next collective on, this rank does not arrive, until an abort.
  void hang(int rank);
  // Sets the result of ncclCommGetAsyncError of every communicator from now on.
  void break_down(int result);

  int collectives() const;    // completed so far
  int communicators() const;  // alive now
  int aborts() const;

  class State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda::fake
