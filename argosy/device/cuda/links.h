// Links: copies from one GPU to another, directly where the GPUs reach each other and a trial confirms the data, else
// through the host. One for all devices of a backend. Thread-safe.
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

  // Enqueues a copy from memory of the GPU `from`, on the copy stream of `to`. The first copy of a pair of GPUs tests
  // the link: 64 KiB, twice, compared. If the data arrive damaged, a warning says so and the copies of the pair go
  // through the host from then on.
  Status copy(DeviceCore& to, CuPointer target, CuDevice from, CuPointer source, std::size_t bytes);

  // Whether kernels and copies of `to` reach the memory of `from` directly. Tests the pair if needed. REQUIRES: both
  // are open. `why_not` receives the reason, including errors of the other GPU.
  Result<bool> reach(DeviceCore& to, DeviceCore& from, std::string* why_not = nullptr);
  // Held while a collective is enqueued, so that every communication stream gets collectives in the same order,
  // whatever their groups.
  Mutex& collectives() { return collectives_; }

  // For a physical GPU that is out of memory: its virtual GPUs return the memory that they keep unused.
  void release_idle(CuDevice gpu);

  // An object that all devices of the backend share, made on first use. `make` runs under a lock.
  std::shared_ptr<void> shared(const std::string& key, const std::function<std::shared_ptr<void>()>& make);

  // "direct", "through the host: ..."; empty: not tested yet.
  std::string describe(CuDevice to, CuDevice from) const;

 private:
  struct Path {
    bool direct = false;
    std::string why_not;
  };
  std::shared_ptr<DeviceCore> on_gpu(CuDevice gpu) ARGOSY_REQUIRES(mutex_);
  Result<Path> try_out(DeviceCore& to, DeviceCore& from);
  // The path of a pair, tested on first use. With virtual GPUs every pool of the other GPU is opened.
  Result<Path> path(DeviceCore& to, DeviceCore& from) ARGOSY_REQUIRES(mutex_);

  Mutex collectives_, shared_mutex_;
  std::map<std::string, std::shared_ptr<void>> shared_ ARGOSY_GUARDED_BY(shared_mutex_);
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<DeviceCore>> cores_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::pair<CuDevice, CuDevice>, Path> paths_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
