// GpuCollectives: collectives among one set of GPUs, started for all ranks at once, by one thread, and done in the order
// of the GPUs' streams.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/collective_job.h"
#include "argosy/comm/group_backend.h"
#include "argosy/device/cuda/cuda_device.h"

namespace argosy::cuda {

// start(): on the ranks' communication streams. Rank r of the calls is on device r. The tensors' memory must stay until
// the events are reached, also after an error. What start() waits for on the host, describe() says.
class GpuCollectives : public GroupBackend {
 public:
  virtual int size() const = 0;
  // "direct", "by the host", "NCCL 2.28.9": for people.
  virtual std::string describe() const = 0;
};

// Our own, for any GPUs of one process and any number of ranks on one of them. Where all GPUs reach each other, every
// rank combines its shard of the elements straight from all memories into all memories. Where some do not, pieces pass
// through pinned host memory while the pieces before are combined. The bits are those of argosy/comm/combine.h, whatever
// the GPUs. No kernel waits for another, so nothing can hang but a GPU itself: step_abort is not used.
//
// `devices`, by rank, are alive whenever start() is called.
std::shared_ptr<GpuCollectives> native_collectives(std::vector<CudaDevice*> devices);

}  // namespace argosy::cuda
