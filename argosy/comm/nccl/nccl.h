// NCCL: collectives among GPUs at the speed of their links. Found and opened as the other libraries of NVIDIA's
// (argosy/device/cuda/driver/library.h).
//
// Communicators of a group are made at its first collective, without blocking, within the time-out. A collective is one
// group call on the communication streams. A thread watches everything that was started, for three faults: a rank is
// lost, NCCL reports an error, nothing ends within the time-out. Then
// * the communicators are aborted, and the next collective makes new ones;
// * the step that waits fails, with a message that names the collective and the GPUs (ARG-COMM-004).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/native_gpu/gpu_collectives.h"
#include "argosy/comm/nccl/nccl_calls.h"

namespace argosy::cuda {

// A table of calls that fits. Immutable, shared, thread-safe.
class Nccl {
 public:
  // UNAVAILABLE: it is not here (ARG-GPU-011), too old (ARG-GPU-012: before 2.14 nothing could be started without
  // blocking), or lacks a symbol.
  static Result<std::shared_ptr<const Nccl>> open();
  static Result<std::shared_ptr<const Nccl>> over(const NcclCalls& calls, const std::string& path);

  const NcclCalls* operator->() const { return &calls_; }
  std::string version_text() const;  // "2.28.9"

 private:
  explicit Nccl(const NcclCalls& calls) : calls_(calls) {}
  NcclCalls calls_;
  int version_ = 0;
};

// What Links::shared("nccl") holds: opened once for all devices of a backend, or why not.
using NcclAvailable = Result<std::shared_ptr<const Nccl>>;

struct NcclOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};
// $ARGOSY_COLLECTIVE_TIMEOUT, in seconds.
NcclOptions nccl_options();

class NcclCollectives : public GpuCollectives {
 public:
  // `devices`, by rank, each on a GPU of its own, alive whenever start() is called.
  static std::shared_ptr<NcclCollectives> make(std::shared_ptr<const Nccl> nccl, std::vector<CudaDevice*> devices,
                                               const NcclOptions& options = nccl_options());

  // Whether NCCL can do what is asked: dtypes, equal parts, one shard a rank.
  static bool takes(std::span<const CollectiveCall> calls);
};

}  // namespace argosy::cuda
