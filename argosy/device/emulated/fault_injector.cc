#include "argosy/device/emulated/fault_injector.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/threads/spin.h"
#include "argosy/device/copy.h"

namespace argosy {

namespace {
constexpr std::int64_t kSleepSlackNanos = 80'000;  // a sleeping thread may wake this much late
constexpr std::int64_t kLeastDebtNanos = 10'000;   // shorter delays are saved up
}  // namespace

void ShutdownSignal::close() {
  MutexLock lock(mutex_);
  closed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void ShutdownSignal::sleep_until(std::int64_t nanos) {
  const std::int64_t asleep = nanos - now_nanos() - kSleepSlackNanos;
  if (asleep > 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(asleep);
    MutexLock lock(mutex_);
    while (!closed() && changed_.wait_until(mutex_, deadline)) {
    }
  }
  while (!closed() && now_nanos() < nanos) spin_pause();
}

void ShutdownSignal::sleep_until_cancelled(Cancellation* cancellation) {
  const auto wake = [this] {
    MutexLock lock(mutex_);
    changed_.notify_all();
  };
  Cancellation::Token token = 0;
  const bool registered = cancellation != nullptr && cancellation->add(wake, &token);
  {
    MutexLock lock(mutex_);
    while (!closed() && !(cancellation != nullptr && cancellation->cancelled())) changed_.wait(mutex_);
  }
  if (registered) cancellation->remove(token);
}

FaultInjector::FaultInjector(const DeviceSpec& spec, const DeviceFaults& faults,
                             std::shared_ptr<ShutdownSignal> shutdown)
    : device_(spec.name.to_string()),
      faults_(faults),
      slowdown_(1 / spec.speed - 1),
      link_bytes_per_second_(spec.link_bytes_per_second),
      shutdown_(std::move(shutdown)) {}

bool FaultInjector::kernels_are_plain() const {
  return slowdown_ == 0 && faults_.lost_at_kernel == 0 && faults_.hang_at_kernel == 0 && faults_.flip_at_kernel == 0;
}

Status FaultInjector::lost(std::string_view node) const {
  return unavailable("device lost at kernel ", lost_at_.load(std::memory_order_relaxed), " (injected fault)")
      .with_id("ARG-DEV-003")
      .with_where(node.empty() ? device_ : str_cat("node '", node, "' on ", device_))
      .with_hint("open a new session without this device and go on from the last checkpoint: --resume");
}

Status FaultInjector::before(std::string_view node, Cancellation* cancellation) {
  if (lost_at_.load(std::memory_order_acquire) != 0) return lost(node);
  const std::int64_t kernel = kernels_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (kernel == faults_.lost_at_kernel) {
    lost_at_.store(kernel, std::memory_order_release);
    return lost(node);
  }
  if (kernel == faults_.flip_at_kernel) flip_due_.store(true, std::memory_order_release);
  if (kernel != faults_.hang_at_kernel) return {};
  shutdown_->sleep_until_cancelled(cancellation);
  if (cancellation != nullptr && cancellation->cancelled()) return cancellation->status();
  return aborted("kernel ", kernel, " never completed (injected fault), and its device was closed")
      .with_id("ARG-DEV-004")
      .with_where(str_cat("node '", node, "' on ", device_));
}

void FaultInjector::after(std::string_view, std::int64_t elapsed_nanos) {
  if (slowdown_ == 0) return;
  const auto owed = static_cast<std::int64_t>(static_cast<double>(elapsed_nanos) * slowdown_);
  if (owed_nanos_.fetch_add(owed, std::memory_order_relaxed) + owed < kLeastDebtNanos) return;
  const std::int64_t start = now_nanos();
  const std::int64_t due = owed_nanos_.exchange(0, std::memory_order_relaxed);
  if (due <= 0) return;
  shutdown_->sleep_until(start + due);
  owed_nanos_.fetch_sub(std::max<std::int64_t>(now_nanos() - start - due, 0), std::memory_order_relaxed);
}

Status FaultInjector::copy(const Buffer& to, const Buffer& from) {
  if (lost_at_.load(std::memory_order_acquire) != 0) return lost({});
  const std::int64_t start = now_nanos();
  std::int64_t end = 0;
  if (link_bytes_per_second_ > 0) {
    MutexLock lock(mutex_);
    const double seconds = static_cast<double>(from.bytes()) / (link_bytes_per_second_ * faults_.copy_speed);
    end = std::max(start, link_free_nanos_) + static_cast<std::int64_t>(seconds * 1e9);
    link_free_nanos_ = end;
  }
  copy_memory(to.data(), from.data(), from.bytes());
  if (end == 0 && faults_.copy_speed < 1) {
    end = start + static_cast<std::int64_t>(static_cast<double>(now_nanos() - start) / faults_.copy_speed);
  }
  if (end != 0) shutdown_->sleep_until(end);
  return {};
}

}  // namespace argosy
