// NCCL: collectives among GPUs at the speed of their links. Found and opened as the other libraries of NVIDIA's
// (argosy/device/cuda/driver/library.h).
//
// The communicators of a group are made at its first collective, in NCCL's non-blocking mode, within the time-out. A
// collective is one NCCL group call on the communication streams. A watchdog thread watches every started collective
// for three faults: a rank is lost, NCCL reports an error, or the collective does not end within the time-out. After a
// fault
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

// The function table of a usable NCCL library. Immutable, shared, thread-safe.
class Nccl {
 public:
  // UNAVAILABLE: the library is not found (ARG-GPU-011), is older than 2.14, which has no non-blocking mode
  // (ARG-GPU-012), or lacks a symbol.
  static Result<std::shared_ptr<const Nccl>> open();
  static Result<std::shared_ptr<const Nccl>> over(const NcclCalls& calls, const std::string& path);

  const NcclCalls* operator->() const { return &calls_; }
  std::string version_text() const;  // "2.28.9"

 private:
  explicit Nccl(const NcclCalls& calls) : calls_(calls) {}
  NcclCalls calls_;
  int version_ = 0;
};

// The object in Links::shared("nccl"): the library, opened once for all devices of a backend, or the error.
using NcclAvailable = Result<std::shared_ptr<const Nccl>>;
// That of the device's backend; opens the library at the first call.
const NcclAvailable& nccl_of(CudaDevice& device);

struct NcclOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  bool timeout_is_asked = false;  // by the user: it bounds waits for slow tasks, too
};
// The default options, with the time-out of $ARGOSY_COLLECTIVE_TIMEOUT in seconds, if set.
NcclOptions nccl_options();

class NcclCollectives : public GpuCollectives {
 public:
  // `devices` are by rank, each on a different physical GPU. They must be alive at every start().
  static std::shared_ptr<NcclCollectives> make(std::shared_ptr<const Nccl> nccl, std::vector<CudaDevice*> devices,
                                               const NcclOptions& options = nccl_options());

  // True if NCCL can carry out the calls: dtypes and reductions fit, parts are equal, and each rank has one shard.
  static bool takes(std::span<const CollectiveCall> calls);
  // The same for one task's ranks of a group over tasks.
  static bool takes(std::span<const CollectiveCall> calls, const SpanningRanks& ranks);
};

}  // namespace argosy::cuda
