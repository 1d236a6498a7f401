// DeviceCore: what a CUDA device holds on its physical GPU: the primary context, the streams, the memory pool and
// pinned staging memory. The device and its buffers share it, so memory may outlive the device. The last owner returns
// all to the driver. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/device/cuda/device_memory.h"
#include "argosy/device/cuda/driver/driver.h"
#include "argosy/device/cuda/event_pool.h"
#include "argosy/device/cuda/pinned_pool.h"
#include "argosy/device/event.h"

namespace argosy::cuda {

// Restores the calling thread's current context at the end of a scope. A thread that releases a buffer may be working
// with another GPU or library.
class KeepsCurrent {
 public:
  explicit KeepsCurrent(const Driver& driver) : driver_(driver) { driver_->cuCtxGetCurrent(&context_); }
  ~KeepsCurrent() { driver_->cuCtxSetCurrent(context_); }
  KeepsCurrent(const KeepsCurrent&) = delete;
  KeepsCurrent& operator=(const KeepsCurrent&) = delete;
  // `context` is about to be destroyed: do not restore it.
  void forget(CuContext context) {
    if (context_ == context) context_ = nullptr;
  }

 private:
  const Driver& driver_;
  CuContext context_ = nullptr;
};

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  // `owner` names the device in errors. `grace`: CudaDevice::kGrace. Allocates nothing.
  DeviceCore(std::shared_ptr<const Driver> driver, CuDevice gpu, std::string owner, std::uint64_t limit_bytes,
             std::chrono::milliseconds grace);
  ~DeviceCore();

  // Takes the context, streams and pool at the first call, and makes the context current. Later calls return the error
  // of the first call, or the error that broke the context since.
  Status open();
  bool opened() const { return opened_.load(std::memory_order_acquire); }
  const Driver& driver() const { return *driver_; }
  const std::shared_ptr<const Driver>& shared_driver() const { return driver_; }
  CuDevice gpu() const { return gpu_; }
  const std::string& owner() const { return owner_; }
  // REQUIRES: open() was OK.
  CuContext context() const { return context_; }
  CuStream compute() const { return compute_; }
  CuStream copies() const { return copies_; }
  // The communication stream, created on first use with the highest priority. REQUIRES: the context is current.
  Result<CuStream> communication();
  // The communication stream, or null while nobody has used it.
  CuStream used_communication() const { return communication_.load(std::memory_order_acquire); }

  // As Driver::check(), with the device's name. An error that breaks the context is stored; broken() returns it from
  // then on.
  Status check(CuResult result, std::string_view call);
  Status broken() const;

  // --- events --------------------------------------------------------------------------------------------------------

  // Records an event on the stream. During a capture, on the compute stream: INTERNAL for the capturing thread; other
  // threads get the point before the capture, of which no work has started yet. Give the event back with
  // return_event().
  Result<CuEvent> record(CuStream stream);
  void return_event(CuEvent event) { events_.put(event); }
  // The host waits for the event. It spins for a moment, then sleeps in short intervals so that it sees a cancellation.
  Status wait_on_host(CuEvent event, Cancellation* cancellation);
  // Whether all running work (or all work of `stream`) has ended. To be called before memory that the work may use is
  // freed. Waits for it; on a device that hangs, only for the grace period after a cancellation. False: the memory must
  // not be freed. Makes the context current.
  bool ended();
  bool ended(CuStream stream);
  // True after a kernel did not end in time after a cancellation.
  bool hangs() const { return hangs_.load(std::memory_order_acquire); }

  // --- memory --------------------------------------------------------------------------------------------------------

  DeviceMemory& memory() { return memory_; }
  const DeviceMemory& memory() const { return memory_; }
  PinnedPool& pinned() { return pinned_; }

 private:
  Status give_up_on(const Status& cancelled);
  Status take() ARGOSY_REQUIRES(mutex_);

  const std::shared_ptr<const Driver> driver_;
  const CuDevice gpu_;
  const std::string owner_;
  const std::chrono::nanoseconds grace_;

  std::atomic<bool> opened_{false};
  mutable Mutex mutex_;
  bool tried_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool retained_ ARGOSY_GUARDED_BY(mutex_) = false;
  Status status_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<bool> broken_{false};
  std::atomic<bool> hangs_{false};
  // Written once, by open().
  CuContext context_ = nullptr;
  CuStream compute_ = nullptr, copies_ = nullptr;
  std::atomic<CuStream> communication_{nullptr};

  EventPool events_;
  PinnedPool pinned_;
  DeviceMemory memory_;
};

// An event of a stream of this GPU, as the rest of the library knows events. Thread-safe.
class CudaEvent : public Event::State {
 public:
  // `stream`: the stream it was recorded on, if known.
  CudaEvent(std::shared_ptr<DeviceCore> core, CuEvent event, CuStream stream = nullptr)
      : core_(std::move(core)), event_(event), stream_(stream) {}
  ~CudaEvent() override { core_->return_event(event_); }
  bool reached() const override;
  // An error is stored in the core; the next wait there returns it.
  void wait() override;
  // As reached(), or the error.
  Result<bool> passed() const {
    const CuResult result = core_->driver()->cuEventQuery(event_);
    if (result == kCuNotReady) return false;
    ARGOSY_RETURN_IF_ERROR(core_->check(result, "cuEventQuery"));
    return true;
  }
  CuEvent event() const { return event_; }
  CuStream stream() const { return stream_; }
  const DeviceCore& core() const { return *core_; }

 protected:
  std::shared_ptr<DeviceCore> core_;
  const CuEvent event_;
  const CuStream stream_;
};

}  // namespace argosy::cuda
