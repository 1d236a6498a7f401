// GpuCollectives: collectives among one set of GPUs. One thread enqueues a collective on the streams of all ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/collective_job.h"
#include "argosy/comm/group_backend.h"
#include "argosy/device/cuda/cuda_device.h"

namespace argosy::cuda {

// start() enqueues on the ranks' communication streams. Rank r of the calls is on device r. The tensors' memory must
// stay until the events are reached, also after an error.
class GpuCollectives : public GroupBackend {
 public:
  virtual int size() const = 0;
  // "direct", "by the host", "NCCL 2.28.9": for people.
  virtual std::string describe() const = 0;
};

// The native backend, for any GPUs of one process, with any number of ranks on each. If all GPUs have peer access,
// every rank combines its slice of the elements: it reads all ranks' memories and writes to all of them. Else pieces
// pass through pinned host memory, and these copies overlap with the combining of earlier pieces. The bits are those of
// argosy/comm/combine.h on any GPUs. No kernel waits for another, so only a GPU itself can hang: step_abort is not
// used.
//
// `devices`, by rank, must be alive at every start().
std::shared_ptr<GpuCollectives> native_collectives(std::vector<CudaDevice*> devices);

}  // namespace argosy::cuda
