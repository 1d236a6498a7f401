// RankStreams: the communication streams of a group's ranks, and the orders among them.
#pragma once

#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

class RankStreams {
 public:
  // Keeps the cores, not the devices.
  explicit RankStreams(std::span<CudaDevice* const> devices);

  int size() const { return static_cast<int>(cores_.size()); }
  DeviceCore& core(int rank) const { return *cores_[static_cast<std::size_t>(rank)]; }
  const std::shared_ptr<DeviceCore>& shared_core(int rank) const { return cores_[static_cast<std::size_t>(rank)]; }
  // REQUIRES: open() was OK.
  CuStream stream(int rank) const { return core(rank).used_communication(); }

  // Contexts and streams of all ranks.
  Status open();
  // Makes a rank's context current.
  Status enter(int rank) { return core(rank).open(); }
  // A rank's stream waits for the event; for one that is none of a GPU's the host does.
  Status wait_for(const Event& event, int rank);
  // Every rank's stream waits for all the events.
  Status wait_for(std::span<const Event> events);
  // Likewise for what the calls' tensors are ready at.
  Status wait_for(std::span<const CollectiveCall> calls);
  // `later`'s stream comes after what was started on `earlier`'s.
  Status order(int earlier, int later);
  // Every stream comes after all that was started on any. By rank: that point.
  Result<std::vector<Event>> join();
  Result<Event> mark(int rank);

 private:
  std::vector<std::shared_ptr<DeviceCore>> cores_;
};

// A copy on the device's communication stream, after `ready`; done when it returns. Any thread.
Status bring_to_host(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready);
Status bring_to_gpu(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready);

}  // namespace argosy::cuda
