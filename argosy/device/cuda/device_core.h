// DeviceCore: what a CUDA device holds on its physical GPU: the primary context, the streams, the memory pool and
// pinned staging memory. The device and its buffers share it, so memory may outlive the device. The last owner returns
// all to the driver. Thread-safe.
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
  // `owner` names the device in errors. Allocates nothing.
  DeviceCore(std::shared_ptr<const Driver> driver, CuDevice gpu, std::string owner, std::uint64_t limit_bytes);
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
  void return_event(CuEvent event);
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

  // Allocates memory. On the compute stream's thread, in the order of the enqueued work unless `at_once`; on any other
  // thread at once. The free takes its place after the work enqueued until then.
  Result<Buffer> allocate(std::size_t bytes, bool at_once = false);
  // `make_room` is called when the physical GPU has no memory left, before allocate() fails: other devices on it may
  // release memory that they keep. Called without a lock of this core. REQUIRES: set before the first allocation.
  void when_out_of_memory(std::function<void()> make_room) { make_room_ = std::move(make_room); }
  // Returns free memory to the physical GPU. Waits for nothing.
  void release_idle();
  // Lets another GPU read and write this memory. Asks the driver once for each GPU. INTERNAL: the driver refuses.
  Status grant(CuDevice other);
  MemoryStats stats() const;
  void trim();
  void fail_allocation(std::int64_t nth);
  // Declares the calling thread the one that runs kernels.
  void claim_compute_thread() {
    const std::thread::id self = std::this_thread::get_id();
    if (compute_thread_.load(std::memory_order_relaxed) != self) compute_thread_.store(self, std::memory_order_relaxed);
  }

  // Starts a capture. Until it ends, no other work may enter the compute stream, nobody may wait for it and nobody may
  // record an event on it. The driver would add such a call to the graph, or discard the capture.
  Status begin_capture();
  // Ends the capture. `memory` receives what was allocated and freed during it: the owner of the graph keeps it. Memory
  // allocated before the capture and freed during it is freed now.
  Result<CuGraph> end_capture(std::vector<Buffer>* memory);
  bool capturing() const;
  // True on the thread that captures.
  bool capturing_here() const;
  // Copies within this device's memory, in order with enqueued work. From another thread during a capture: after the
  // work before the capture, and done at the return.
  Status copy_within(CuPointer to, CuPointer from, std::size_t bytes);

  // Pinned staging memory, reused once the event `after` is reached. Null: the system refuses, or bytes > kMostStaging.
  static constexpr std::size_t kMostStaging = std::size_t{64} << 20;
  std::byte* staging(std::size_t bytes);
  void staged(std::byte* block, CuEvent after);  // gives the block back; takes ownership of `after`
  void drop_staging(std::byte* block);           // gives it back unused
  // A captured copy reads this block in every replay. So the block goes to the owner of the graph with end_capture().
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
  // During a capture. of_capture_: allocations of the compute thread, with their sizes. spare_: those of them that it
  // freed, for reuse in the order of the capture. waiting_: other frees, to be done when the capture ends.
  std::map<CuPointer, std::size_t> of_capture_ ARGOSY_GUARDED_BY(memory_);
  std::multimap<std::size_t, CuPointer> spare_ ARGOSY_GUARDED_BY(memory_);
  std::vector<CuPointer> waiting_ ARGOSY_GUARDED_BY(memory_);
  std::vector<std::byte*> staged_in_capture_ ARGOSY_GUARDED_BY(memory_);
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
