#include "argosy/device/cuda/device_core.h"

#include <time.h>

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/spin.h"

namespace argosy::cuda {

namespace {
// A wait spins first, then yields the core between its tests, then sleeps between them. A sleep ends 50 us late or
// more, which must be little compared with the wait.
constexpr std::int64_t kAwakeNanos = 200'000, kYieldNanos = 2'000'000;
constexpr std::int64_t kShare = 32, kLongestNapNanos = 200'000;  // of the time waited so far

void pause_after(std::int64_t waited) {
  if (waited < kAwakeNanos) {
    spin_pause();
  } else if (waited < kYieldNanos) {
    std::this_thread::yield();
  } else {
    const timespec time{.tv_sec = 0, .tv_nsec = std::min(waited / kShare, kLongestNapNanos)};
    nanosleep(&time, nullptr);
  }
}
}  // namespace

DeviceCore::DeviceCore(std::shared_ptr<const Driver> driver, CuDevice gpu, std::string owner, std::uint64_t limit_bytes,
                       std::chrono::milliseconds grace)
    : driver_(std::move(driver)),
      gpu_(gpu),
      owner_(std::move(owner)),
      grace_(grace),
      pinned_(*driver_, events_),
      memory_(*this, limit_bytes) {}

DeviceCore::~DeviceCore() {
  {
    MutexLock lock(mutex_);
    if (!retained_) return;
  }
  KeepsCurrent current(*driver_);
  // Errors are ignored here: what a broken context holds is released with the context.
  if (!ended()) {
    ARGOSY_LOG(kWarning, owner_, ": a kernel does not end; what the device holds stays until the process ends");
    return;
  }
  const DriverCalls& cu = *driver_->operator->();
  cu.cuCtxSetCurrent(context_);
  pinned_.destroy();
  events_.destroy(*driver_);
  memory_.close();
  for (const CuStream stream : {communication_.load(), copies_, compute_}) {
    if (stream != nullptr) cu.cuStreamDestroy_v2(stream);
  }
  current.forget(context_);
  cu.cuDevicePrimaryCtxRelease_v2(gpu_);
}

Status DeviceCore::open() {
  if (opened() && !broken_.load(std::memory_order_acquire)) {
    return check(driver_->operator->()->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  }
  MutexLock lock(mutex_);
  if (!tried_) {
    tried_ = true;
    status_ = take().with_where(owner_);
    if (status_.ok()) opened_.store(true, std::memory_order_release);
  }
  return status_;
}

Status DeviceCore::take() {
  const DriverCalls& cu = *driver_->operator->();
  const auto ok = [&](CuResult result, const char* call) { return driver_->check(result, call); };
  const CuResult retained = cu.cuDevicePrimaryCtxRetain(&context_, gpu_);
  if (retained == kCuDeviceUnavailable) {
    return unavailable("another process has this GPU for itself (compute mode \"exclusive\")")
        .with_id("ARG-GPU-015")
        .with_hint("`argosy devices` shows who; end it, or nvidia-smi -c DEFAULT");
  }
  if (retained == kCuOutOfMemory) {
    return resource_exhausted("the GPU has no memory left for a context")
        .with_id("ARG-MEM-002")
        .with_hint("`argosy devices` shows who uses it; end them");
  }
  ARGOSY_RETURN_IF_ERROR(ok(retained, "cuDevicePrimaryCtxRetain"));
  retained_ = true;
  ARGOSY_RETURN_IF_ERROR(ok(cu.cuCtxSetCurrent(context_), "cuCtxSetCurrent"));
  int pools = 0;
  ARGOSY_RETURN_IF_ERROR(ok(cu.cuDeviceGetAttribute(&pools, kCuMemoryPools, gpu_), "cuDeviceGetAttribute"));
  if (pools == 0) {
    return failed_precondition("this GPU's driver has no memory pools")
        .with_id("ARG-GPU-007")
        .with_hint("a newer driver; on a virtual machine, a profile with unified memory");
  }
  for (CuStream* stream : {&compute_, &copies_}) {
    ARGOSY_RETURN_IF_ERROR(ok(cu.cuStreamCreate(stream, kCuStreamNonBlocking), "cuStreamCreate"));
  }
  return memory_.open();
}

Result<CuStream> DeviceCore::communication() {
  if (const CuStream stream = used_communication(); stream != nullptr) return stream;
  const DriverCalls& cu = *driver_->operator->();
  // Collectives have few blocks, and other devices wait for them. With the highest priority their blocks take the first
  // free multiprocessors; else they would queue behind all blocks of a kernel that fills the GPU.
  int least = 0, greatest = 0;
  ARGOSY_RETURN_IF_ERROR(check(cu.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange"));
  CuStream stream = nullptr;
  CuResult result = kCuSuccess;
  {
    MutexLock lock(mutex_);
    if (const CuStream made = used_communication(); made != nullptr) return made;
    result = cu.cuStreamCreateWithPriority(&stream, kCuStreamNonBlocking, greatest);
    if (result == kCuSuccess) communication_.store(stream, std::memory_order_release);
  }
  ARGOSY_RETURN_IF_ERROR(check(result, "cuStreamCreateWithPriority"));
  return stream;
}

Status DeviceCore::check(CuResult result, std::string_view call) {
  if (result == kCuSuccess) [[likely]]
    return {};
  Status status = driver_->check(result, call).with_where(owner_);
  if (!Driver::breaks_context(result)) return status;
  MutexLock lock(mutex_);
  if (status_.ok()) status_ = std::move(status);
  broken_.store(true, std::memory_order_release);
  return status_;
}

Status DeviceCore::broken() const {
  if (!broken_.load(std::memory_order_acquire)) return {};
  MutexLock lock(mutex_);
  return status_;
}

Result<CuEvent> DeviceCore::record(CuStream stream) {
  const DriverCalls& cu = *driver_->operator->();
  CuEvent event = events_.take();
  if (event == nullptr) ARGOSY_RETURN_IF_ERROR(check(cu.cuEventCreate(&event, kCuEventDisableTiming), "cuEventCreate"));
  Status recorded =
      stream == compute_ ? memory_.record(event) : check(cu.cuEventRecord(event, stream), "cuEventRecord");
  if (recorded.ok()) return event;
  return_event(event);
  return recorded;
}

Status DeviceCore::wait_on_host(CuEvent event, Cancellation* cancellation) {
  const DriverCalls& cu = *driver_->operator->();
  const std::int64_t start = now_nanos();
  std::int64_t cancelled_at = 0;
  while (true) {
    const CuResult result = cu.cuEventQuery(event);
    if (result != kCuNotReady) return check(result, "cuEventQuery");
    const std::int64_t now = now_nanos();
    if (cancellation != nullptr && cancellation->cancelled()) {
      if (cancelled_at == 0) cancelled_at = now;
      if (now - cancelled_at > grace_.count()) return give_up_on(cancellation->status());
    }
    pause_after(now - start);
  }
}

bool DeviceCore::ended() {
  if (!opened()) return true;
  for (const CuStream stream : {used_communication(), copies_, memory_.stream(), compute_}) {
    if (stream != nullptr && !ended(stream)) return false;
  }
  return true;
}

bool DeviceCore::ended(CuStream stream) {
  const DriverCalls& cu = *driver_->operator->();
  cu.cuCtxSetCurrent(context_);
  const Result<CuEvent> end = record(stream);
  if (!end.ok()) return !memory_.capturing();  // a broken context does nothing more
  const std::int64_t start = now_nanos();
  std::int64_t waited = 0;
  while (cu.cuEventQuery(*end) == kCuNotReady) {  // an error is an end as well
    if (hangs() && waited > grace_.count()) return false;
    pause_after(waited);
    waited = now_nanos() - start;
  }
  return_event(*end);
  return true;
}

// Declares the device unusable. The kernel that hangs may still write its memory, so nobody may reuse it.
Status DeviceCore::give_up_on(const Status& cancelled) {
  MutexLock lock(mutex_);
  if (status_.ok()) {
    status_ = aborted("a kernel does not end, ", grace_.count() / 1'000'000, " ms after \"", cancelled.message(), "\"")
                  .with_id("ARG-DEV-004")
                  .with_where(owner_)
                  .with_hint("start again without this device, from the last checkpoint: --resume");
  }
  hangs_.store(true, std::memory_order_release);
  broken_.store(true, std::memory_order_release);
  return status_;
}

bool CudaEvent::reached() const {
  // An error is an end as well.
  return core_->driver()->cuEventQuery(event_) != kCuNotReady;
}

void CudaEvent::wait() {
  const Status status = core_->wait_on_host(event_, nullptr);
  if (!status.ok()) return;  // kept by the core
}

}  // namespace argosy::cuda
