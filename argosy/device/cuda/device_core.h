// What a CUDA device holds on its physical GPU: the primary context, streams, a memory pool, pinned staging. Shared by the
// device and its buffers, so that memory may outlive the device; the last to go gives everything back. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/device/cuda/driver/driver.h"
#include "argosy/device/event.h"
#include "argosy/tensor/buffer.h"

namespace argosy::cuda {

// At its end the calling thread's context is what it was: who lets go of something may be at work with another GPU, or
// with another library.
class KeepsCurrent {
 public:
  explicit KeepsCurrent(const Driver& driver) : driver_(driver) { driver_->cuCtxGetCurrent(&context_); }
  ~KeepsCurrent() { driver_->cuCtxSetCurrent(context_); }
  KeepsCurrent(const KeepsCurrent&) = delete;
  KeepsCurrent& operator=(const KeepsCurrent&) = delete;
  // That one is let go of.
  void forget(CuContext context) {
    if (context_ == context) context_ = nullptr;
  }

 private:
  const Driver& driver_;
  CuContext context_ = nullptr;
};

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  // `owner` names the device in errors. Takes nothing.
  DeviceCore(std::shared_ptr<const Driver> driver, CuDevice gpu, std::string owner, std::uint64_t limit_bytes);
  ~DeviceCore();

  // Takes the context, streams and pool at the first call, and makes the context current. The error of the first call,
  // or what broke the context since, is every later call's.
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
  // Made when first asked for, with the highest priority there is. REQUIRES: the context is current.
  Result<CuStream> communication();
  // Null while nobody has asked for it.
  CuStream used_communication() const { return communication_.load(std::memory_order_acquire); }

  // As Driver::check(), with the device's name; what breaks the context is kept and returned from then on.
  Status check(CuResult result, std::string_view call);
  Status broken() const;

  // --- events --------------------------------------------------------------------------------------------------------

  // Recorded on the stream, now. While a step is captured, on the compute stream: for the capturing thread INTERNAL,
  // for others the point before the capture, of which nothing is started yet. Given back with return_event().
  Result<CuEvent> record(CuStream stream);
  void return_event(CuEvent event);
  // The host waits: awake for a moment, then with short sleeps, so that a cancellation is seen.
  Status wait_on_host(CuEvent event, Cancellation* cancellation);
  // Before what is under way may use goes: has all of it ended, or what this stream does? Waits for that, on a device
  // that hangs no longer than a kernel is given after a cancellation; what is left then must stay as it is. Makes the
  // context current.
  bool ended();
  bool ended(CuStream stream);
  // A kernel did not end after a cancellation.
  bool hangs() const { return hangs_.load(std::memory_order_acquire); }

  // --- memory --------------------------------------------------------------------------------------------------------

  // From the compute stream's thread in the order of what is started, unless it is wanted at once; from any other at
  // once. Freed in the order of what was started until then.
  Result<Buffer> allocate(std::size_t bytes, bool at_once = false);
  // What to do where the physical GPU has no memory left, before that is an error: others on it may keep what they do not
  // use. Called without a lock of this core's. Set before anything is allocated.
  void when_out_of_memory(std::function<void()> make_room) { make_room_ = std::move(make_room); }
  // Gives the physical GPU back what is free by now; waits for nothing.
  void release_idle();
  // Lets another GPU read and write this memory; asks the driver once. INTERNAL where the driver refuses.
  Status grant(CuDevice other);
  MemoryStats stats() const;
  void trim();
  void fail_allocation(std::int64_t nth);
  // The calling thread starts kernels.
  void claim_compute_thread() {
    const std::thread::id self = std::this_thread::get_id();
    if (compute_thread_.load(std::memory_order_relaxed) != self) compute_thread_.store(self, std::memory_order_relaxed);
  }

  // While a step is captured nothing from outside may enter the compute stream, nor may anybody wait for it or record
  // an event there: the driver would make that part of the captured graph, or throw it away.
  Status begin_capture();
  // What was allocated and freed meanwhile is handed to whoever keeps the graph; it is free for others when that lets
  // it go. What was allocated before and freed meanwhile is freed now.
  Result<CuGraph> end_capture(std::vector<Buffer>* memory);
  bool capturing() const;
  // Is the calling thread the one that captures?
  bool capturing_here() const;
  // Within this device's memory, in order with what is started; from another thread while a step is captured, after
  // what was started before that, done when it returns.
  Status copy_within(CuPointer to, CuPointer from, std::size_t bytes);

  // Pinned memory, used again once `after` was reached; null data where the system refuses or it is too large.
  static constexpr std::size_t kMostStaging = std::size_t{64} << 20;
  std::byte* staging(std::size_t bytes);
  void staged(std::byte* block, CuEvent after);  // takes over `after`
  void drop_staging(std::byte* block);           // nothing was started from it
  // What is captured from it reads it in every replay: it goes with what end_capture() hands over.
  // REQUIRES: capturing().
  void keep_staging(std::byte* block);

 private:
  struct Block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool lent = false;
    CuEvent after = nullptr;
  };

  Status give_up_on(const Status& cancelled);
  Status take() ARGOSY_REQUIRES(mutex_);
  void free(CuPointer pointer, std::size_t bytes);
  Result<CuPointer> take_memory(std::size_t bytes, bool at_once) ARGOSY_REQUIRES(memory_);
  Buffer wrap(CuPointer pointer, std::size_t bytes);
  Status refuse(std::size_t bytes, std::string_view why) const ARGOSY_REQUIRES(memory_);
  Status mark(CuEvent event, CuStream stream);
  bool captures_here() const ARGOSY_REQUIRES(memory_) {
    return capturing_ && capturing_thread_ == std::this_thread::get_id();
  }
  bool on_compute_thread() const {
    return compute_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  const std::shared_ptr<const Driver> driver_;
  const CuDevice gpu_;
  const std::string owner_;
  const std::uint64_t limit_;
  std::function<void()> make_room_;

  std::atomic<bool> opened_{false};
  mutable Mutex mutex_;
  bool tried_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool retained_ ARGOSY_GUARDED_BY(mutex_) = false;
  Status status_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<CuEvent> events_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<Block> blocks_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<bool> broken_{false};
  std::atomic<bool> hangs_{false};
  // Written once, by open().
  CuContext context_ = nullptr;
  CuStream compute_ = nullptr, copies_ = nullptr, memory_stream_ = nullptr;
  CuMemoryPool pool_ = nullptr;
  std::atomic<CuStream> communication_{nullptr};
  std::set<CuDevice> granted_ ARGOSY_GUARDED_BY(mutex_);

  std::atomic<std::thread::id> compute_thread_{};

  mutable Mutex memory_;
  std::uint64_t in_use_ ARGOSY_GUARDED_BY(memory_) = 0;
  std::uint64_t peak_ ARGOSY_GUARDED_BY(memory_) = 0;
  std::uint64_t allocations_ ARGOSY_GUARDED_BY(memory_) = 0;
  std::int64_t fail_in_ ARGOSY_GUARDED_BY(memory_) = 0;
  bool capturing_ ARGOSY_GUARDED_BY(memory_) = false;
  std::thread::id capturing_thread_ ARGOSY_GUARDED_BY(memory_);
  CuEvent before_capture_ ARGOSY_GUARDED_BY(memory_) = nullptr;
  // While a step is captured: what the compute thread allocated, with its size; of that, what it freed, to be used
  // again in the order of the capture; and what else was freed, to go when the capture ends.
  std::map<CuPointer, std::size_t> of_capture_ ARGOSY_GUARDED_BY(memory_);
  std::multimap<std::size_t, CuPointer> spare_ ARGOSY_GUARDED_BY(memory_);
  std::vector<CuPointer> waiting_ ARGOSY_GUARDED_BY(memory_);
  std::vector<std::byte*> staged_in_capture_ ARGOSY_GUARDED_BY(memory_);
};

// A point in the order of a stream of this GPU, as the rest of the library knows events.
class CudaEvent : public Event::State {
 public:
  // `stream`: where it was recorded, if whoever waits for it may like to know.
  CudaEvent(std::shared_ptr<DeviceCore> core, CuEvent event, CuStream stream = nullptr)
      : core_(std::move(core)), event_(event), stream_(stream) {}
  ~CudaEvent() override { core_->return_event(event_); }
  bool reached() const override;
  // An error is kept by the core, and surfaces at its next wait.
  void wait() override;
  // As reached(), with what went wrong.
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
