// Collectives among GPUs: started for all ranks at once, by one thread, and done in the order of the GPUs' streams.
// What argosy/comm/communicator.h offers rank by rank (gpu_communicators.h) and what the op _AllReduce does stand on this.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/comm/collective_job.h"
#include "argosy/device/cuda/cuda_device.h"

namespace argosy::cuda {

class GpuCollectives {
 public:
  virtual ~GpuCollectives() = default;
  virtual int size() const = 0;
  // "direct", "by the host", "NCCL 2.28.9": for people.
  virtual std::string describe() const = 0;
  // Starts what the calls, by rank, ask for on the ranks' communication streams, each after all of `ready` (by rank; an
  // event that is none of a GPU's is waited for here). The events, by rank: reached when nobody reads or writes that
  // rank's tensors any more. The tensors' memory must stay until then, also after an error. Thread-safe; waits for
  // nothing on the host, unless it says so in describe().
  virtual Result<std::vector<Event>> start(std::span<const CollectiveCall> calls, std::span<const Event> ready) = 0;
  // One rank's tensor to another's: as start().
  virtual Result<Event> send(const Tensor& from, int from_rank, const Tensor& to, int to_rank,
                             std::span<const Event> ready) = 0;
  // Ends what hangs, as far as that can be ended; every later start() returns the cause.
  virtual void abort(const Status& cause) = 0;
};

// Our own, for any GPUs of one process and any number of ranks on one of them. Where all GPUs reach each other, every
// rank combines its share of the elements straight from all memories into all memories; where some do not, pieces pass
// through pinned host memory while the pieces before are combined. The bits are those of argosy/comm/shared_memory, whatever
// the GPUs. No kernel waits for another, so nothing can hang but a GPU itself.
//
// `devices`, by rank, are alive whenever start() is called.
std::shared_ptr<GpuCollectives> native_collectives(std::vector<CudaDevice*> devices);

}  // namespace argosy::cuda
