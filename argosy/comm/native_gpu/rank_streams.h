// RankStreams: the communication streams of a group's ranks, and the events that order them.
#pragma once

#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/device/cuda/cuda_device.h"
#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

class RankStreams {
 public:
  // Shares ownership of the devices' DeviceCores, but not of the devices.
  explicit RankStreams(std::span<CudaDevice* const> devices);

  int size() const { return static_cast<int>(cores_.size()); }
  DeviceCore& core(int rank) const { return *cores_[static_cast<std::size_t>(rank)]; }
  const std::shared_ptr<DeviceCore>& shared_core(int rank) const { return cores_[static_cast<std::size_t>(rank)]; }
  // REQUIRES: open() was OK.
  CuStream stream(int rank) const { return core(rank).used_communication(); }

  // Opens the contexts and streams of all ranks.
  Status open();
  // Makes a rank's context current.
  Status enter(int rank) { return core(rank).open(); }
  // Makes a rank's stream wait for the event. If the event is not a GPU's, the host waits for it.
  Status wait_for(const Event& event, int rank);
  // Makes every rank's stream wait for all of the events.
  Status wait_for(std::span<const Event> events);
  // Makes every rank's stream wait for `ready` of all calls.
  Status wait_for(std::span<const CollectiveCall> calls);
  // Makes rank `later`'s stream wait for the work enqueued so far on rank `earlier`'s.
  Status order(int earlier, int later);
  // Makes every stream wait for the work enqueued so far on all streams. Returns an event at that point, by rank.
  Result<std::vector<Event>> join();
  Result<Event> mark(int rank);

 private:
  std::vector<std::shared_ptr<DeviceCore>> cores_;
};

// These two copy on the device's communication stream, after `ready`, and wait for the copy. Any thread.
Status bring_to_host(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready);
Status bring_to_gpu(CudaDevice& device, void* to, const void* from, std::size_t bytes, const Event& ready);

}  // namespace argosy::cuda
