// Copies from one GPU to another: directly where the GPUs reach each other and the content proves it, by the host
// where not. One for all devices of a backend. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/cuda/device_core.h"

namespace argosy::cuda {

class Links {
 public:
  void join(const std::shared_ptr<DeviceCore>& core);

  // Starts, on the copy stream of `to`, a copy from memory of the GPU `from`. A pair of GPUs is tried out at its
  // first copy (64 KiB, twice, looked at): where what arrives is not what was sent, a warning says so, and its copies
  // go by the host from then on.
  Status copy(DeviceCore& to, CuPointer target, CuDevice from, CuPointer source, std::size_t bytes);

  // Do kernels and copies of `to` reach the memory of `from` directly? Tries the pair out where nobody has. Both must
  // be open; other GPUs' errors are told as `why_not`.
  Result<bool> reach(DeviceCore& to, DeviceCore& from, std::string* why_not = nullptr);
  // Held while a collective is started: every communication stream gets collectives in the same order, whatever the
  // groups.
  Mutex& collectives() { return collectives_; }

  // The physical GPU is out of memory: what its virtual GPUs keep and do not use goes back to it.
  void release_idle(CuDevice gpu);

  // Something that all devices of the backend share, made at first use. `make` is called under a lock.
  std::shared_ptr<void> shared(const std::string& key, const std::function<std::shared_ptr<void>()>& make);

  // "direct", "through the host: ..."; empty: not tried yet.
  std::string describe(CuDevice to, CuDevice from) const;

 private:
  struct Path {
    bool direct = false;
    std::string why_not;
  };
  std::shared_ptr<DeviceCore> on_gpu(CuDevice gpu) ARGOSY_REQUIRES(mutex_);
  Result<Path> try_out(DeviceCore& to, DeviceCore& from);
  // What is known of the pair, or finds out. With virtual GPUs every pool of the other GPU is opened.
  Result<Path> path(DeviceCore& to, DeviceCore& from) ARGOSY_REQUIRES(mutex_);

  Mutex collectives_, shared_mutex_;
  std::map<std::string, std::shared_ptr<void>> shared_ ARGOSY_GUARDED_BY(shared_mutex_);
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<DeviceCore>> cores_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::pair<CuDevice, CuDevice>, Path> paths_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
