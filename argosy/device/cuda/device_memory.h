// DeviceMemory: the memory of a CUDA device: the driver's stream-ordered pool under our own cap, and its bookkeeping
// while a graph is captured. Part of a DeviceCore. Thread-safe.
//
// Order: an allocation or free on the compute stream's thread takes its place after the work enqueued so far. Any other
// thread does not know that place, so it allocates on a stream of its own and waits. During a capture no allocation may
// enter the compute stream, and the memory of the graph must keep its addresses for every replay.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/cuda/captured_memory.h"
#include "argosy/device/cuda/driver/driver.h"
#include "argosy/tensor/buffer.h"

namespace argosy::cuda {

class DeviceCore;

class DeviceMemory {
 public:
  // `core` owns it.
  DeviceMemory(DeviceCore& core, std::uint64_t limit_bytes) : core_(core), limit_(limit_bytes) {}

  // Creates the stream and the pool. Called once by DeviceCore::open(), with the context current.
  Status open();
  // Destroys them. Called by the destructor of the core, with the context current and no work running.
  void close();
  // REQUIRES: open() was OK. The stream of allocations outside the order of the compute stream.
  CuStream stream() const { return stream_; }

  // Allocates memory. On the compute stream's thread, in the order of the enqueued work unless `at_once`; on any other
  // thread at once. The free takes its place after the work enqueued until then.
  // RESOURCE_EXHAUSTED: ARG-MEM-001, above the cap; ARG-MEM-002, the GPU has none left.
  Result<Buffer> allocate(std::size_t bytes, bool at_once = false);
  // `make_room` is called when the physical GPU has no memory left, before allocate() fails: other devices on it may
  // release memory that they keep. Called without a lock of this object. REQUIRES: set before the first allocation.
  void when_out_of_memory(std::function<void()> make_room) { make_room_ = std::move(make_room); }
  // Returns free memory to the physical GPU. Waits for nothing.
  void release_idle();
  // The same after waiting for the compute stream. No effect during a capture.
  void trim();
  // Lets another GPU read and write this memory. Asks the driver once for each GPU. INTERNAL: the driver refuses.
  Status grant(CuDevice other);
  MemoryStats stats() const;
  // For tests: the nth allocation from now (1 = the next) fails.
  void fail_allocation(std::int64_t nth);
  // Copies within this device's memory, in order with enqueued work. From another thread during a capture: after the
  // work before the capture, and done at the return.
  Status copy_within(CuPointer to, CuPointer from, std::size_t bytes);
  // Records an event on the compute stream. During a capture: INTERNAL for the capturing thread; other threads get the
  // point before the capture.
  Status record(CuEvent event);

  // Declares the calling thread the one that runs kernels.
  void claim_compute_thread() {
    const std::thread::id self = std::this_thread::get_id();
    if (compute_thread_.load(std::memory_order_relaxed) != self) compute_thread_.store(self, std::memory_order_relaxed);
  }

  // --- capture -------------------------------------------------------------------------------------------------------

  // Starts a capture. Until it ends, no other work may enter the compute stream, nobody may wait for it and nobody may
  // record an event on it. The driver would add such a call to the graph, or discard the capture.
  Status begin_capture();
  // Ends the capture. The owner of the graph must keep EndedCapture, on errors too.
  struct EndedCapture {
    std::vector<Buffer> memory;       // allocated and freed during it: for as long as the graph may be replayed
    std::vector<CuPointer> replayed;  // allocated before it and freed during it: for free_all() after the first replay
  };
  Result<CuGraph> end_capture(EndedCapture* ended);
  // Frees memory of EndedCapture::replayed, in order with enqueued work.
  void free_all(const std::vector<CuPointer>& pointers);
  bool capturing() const;
  // True on the thread that captures.
  bool capturing_here() const;
  // A captured copy reads this pinned block in every replay. So the block goes to the owner of the graph with
  // end_capture(). REQUIRES: capturing().
  void keep_pinned(std::byte* block);

 private:
  Result<CuPointer> take(std::size_t bytes, bool at_once) ARGOSY_REQUIRES(mutex_);
  Result<CuPointer> take_from_driver(std::size_t bytes, bool in_order) ARGOSY_REQUIRES(mutex_);
  void free(CuPointer pointer, std::size_t bytes);
  void free_counted(CuPointer pointer) ARGOSY_REQUIRES(mutex_);  // of a pointer that in_use_ does not count any more
  Buffer wrap(CuPointer pointer, std::size_t bytes);
  Status refuse(std::size_t bytes, std::string_view why) const ARGOSY_REQUIRES(mutex_);
  bool captures_here() const ARGOSY_REQUIRES(mutex_) {
    return capturing_ && capturing_thread_ == std::this_thread::get_id();
  }
  bool on_compute_thread() const {
    return compute_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  DeviceCore& core_;
  const std::uint64_t limit_;
  std::function<void()> make_room_;
  // Written once, by open().
  CuStream stream_ = nullptr;
  CuMemoryPool pool_ = nullptr;

  std::atomic<std::thread::id> compute_thread_{};
  Mutex grants_mutex_;
  std::set<CuDevice> granted_ ARGOSY_GUARDED_BY(grants_mutex_);

  mutable Mutex mutex_;
  std::uint64_t in_use_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t peak_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::uint64_t allocations_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::int64_t fail_in_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool capturing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread::id capturing_thread_ ARGOSY_GUARDED_BY(mutex_);
  CuEvent before_capture_ ARGOSY_GUARDED_BY(mutex_) = nullptr;
  CapturedMemory captured_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::cuda
