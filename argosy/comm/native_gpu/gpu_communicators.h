// Communicators (argosy/comm/communicator.h) whose ranks are GPUs of one process, over whoever does their collectives.
// What a rank brings must have been started on its device's compute stream; the call returns when it is over.
#pragma once

#include <memory>

#include "argosy/comm/communicator.h"
#include "argosy/comm/native_gpu/gpu_collectives.h"

namespace argosy::cuda {

class GpuCommunicators {
 public:
  // `devices`, by rank, outlive this. `timeout`: of calls that give none, for ranks to come and for the work to end.
  GpuCommunicators(std::vector<CudaDevice*> devices, std::shared_ptr<GpuCollectives> collectives,
                   std::chrono::nanoseconds timeout = std::chrono::seconds(30));
  // No rank may be inside a call.
  ~GpuCommunicators();

  int size() const;
  Communicator& rank(int rank);  // owned by this

 private:
  class State;
  class Rank;
  std::unique_ptr<State> state_;
};

}  // namespace argosy::cuda
