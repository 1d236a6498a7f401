// HostCopies: copies between host memory and a CUDA device.
//
// The driver copies pinned host memory directly. Pageable memory goes through pinned staging memory (PinnedPool),
// in pieces of 8 MiB, so that the host copies one piece while others are under way. Thread-safe.
// REQUIRES, for all copies: the device's context is current (DeviceCore::open() was OK).
#pragma once

#include "argosy/device/cuda/device_core.h"
#include "argosy/device/cuda/links.h"

namespace argosy::cuda {

class HostCopies {
 public:
  HostCopies(std::shared_ptr<DeviceCore> core, std::shared_ptr<Links> links)
      : core_(std::move(core)), links_(std::move(links)) {}

  // The GPU that owns this address, or -1 for host memory. Sets `pinned` where the driver knows.
  CuDevice gpu_of(const void* pointer, bool* pinned = nullptr) const;

  // Enqueues a copy from host memory, or from another GPU, into this device's memory. On the compute stream the caller
  // may reuse `from` at the return; on the copy stream pinned memory must stay until the copy is done. During a capture
  // the staging memory stays with the captured graph.
  Status copy_in(void* to, const void* from, std::size_t bytes, CuStream stream);
  // Enqueues a copy to host memory on the compute stream. The host may read `to` once the event is reached. Above
  // PinnedPool::kMostBytes the copy is done at the return. REQUIRES: from.bytes() > 0.
  Result<Event> copy_out(const Buffer& to, const Buffer& from);
  // Copies to host memory on `stream`. `to` is complete once the host has waited for the stream.
  Status copy_out_now(void* to, const void* from, std::size_t bytes, CuStream stream);

 private:
  Status send(CuPointer to, std::byte* staging, std::size_t bytes, CuStream stream);
  // Copies to pageable memory in pieces. Done at the return.
  Status copy_out_pieces(std::byte* to, CuPointer from, std::size_t bytes, CuStream stream);

  const std::shared_ptr<DeviceCore> core_;
  const std::shared_ptr<Links> links_;
};

}  // namespace argosy::cuda
