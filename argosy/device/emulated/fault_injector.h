// FaultInjector: slows an emulated GPU down and breaks it, as its spec and its faults say: speed factor, link, lost
// device, hanging kernel.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"
#include "argosy/device/emulated/emulation_parser.h"

namespace argosy {

// Tells the devices of one session that the session ends. The first device destroyed closes the signal. So a kernel
// that hangs on one device cannot block the destruction of another. Thread-safe.
class ShutdownSignal {
 public:
  void close();
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  // Sleeps until then (system clock) or until closed; precise to a few microseconds.
  void sleep_until(std::int64_t nanos);
  // Sleeps until closed or cancelled.
  void sleep_until_cancelled(Cancellation* cancellation);

 private:
  std::atomic<bool> closed_{false};
  Mutex mutex_;
  CondVar changed_;
};

// Observes the kernels of one device and times its copies. Thread-safe.
class FaultInjector final : public KernelObserver {
 public:
  FaultInjector(const DeviceSpec& spec, const DeviceFaults& faults, std::shared_ptr<ShutdownSignal> shutdown);

  // True when kernels run unchanged: the device needs no observer.
  bool kernels_are_plain() const;
  Status before(std::string_view node, Cancellation* cancellation) override;
  void after(std::string_view node, std::int64_t elapsed_nanos) override;
  // True from the Nth kernel on (flip=N), until a caller has flipped a bit and called flipped().
  bool flip_due() const { return flip_due_.load(std::memory_order_acquire); }
  void flipped() { flip_due_.store(false, std::memory_order_release); }

  // Copies, and sleeps until the link would have finished. The link carries one copy at a time.
  Status copy(const Buffer& to, const Buffer& from);

 private:
  Status lost(std::string_view node) const;

  const std::string device_;
  const DeviceFaults faults_;
  const double slowdown_;               // extra time per time
  const double link_bytes_per_second_;  // 0 = as fast as memory
  const std::shared_ptr<ShutdownSignal> shutdown_;

  std::atomic<std::int64_t> kernels_{0};
  std::atomic<std::int64_t> lost_at_{0};  // the kernel at which the device went; 0 = alive
  std::atomic<std::int64_t> owed_nanos_{0};
  std::atomic<bool> flip_due_{false};

  Mutex mutex_;
  std::int64_t link_free_nanos_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy
