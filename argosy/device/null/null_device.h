// NullDevice: a device without data, for a simulator. Its memory is counted but not filled, its kernels only have a
// cost, and that cost advances a virtual clock. Only tests make one today.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "argosy/base/clock.h"
#include "argosy/device/device.h"
#include "argosy/device/host_stream.h"

namespace argosy {

// A clock that only advance() moves. Thread-safe.
class VirtualClock final : public Clock {
 public:
  std::int64_t now_nanos() const override { return nanos_.load(std::memory_order_acquire); }
  void advance(std::int64_t nanos) { nanos_.fetch_add(nanos, std::memory_order_acq_rel); }

 private:
  std::atomic<std::int64_t> nanos_{0};
};

// Counts bytes against the spec's limit. Buffers up to a page are real, so that shapes and indices can be computed.
// Larger buffers read as zero and take memory only where they are written.
class NullAllocator final : public Allocator {
 public:
  explicit NullAllocator(const DeviceSpec& spec);
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override;

 private:
  struct Counts;
  const std::string owner_;
  const std::uint64_t limit_;
  const std::shared_ptr<Counts> counts_;
};

class NullDevice final : public Device {
 public:
  // Virtual nanoseconds of one kernel. Must be thread-safe.
  using Cost = std::function<std::int64_t(std::string_view node)>;

  // Without `cost` a kernel costs the time given to its observer. The spec's kind becomes kNull.
  explicit NullDevice(DeviceSpec spec, Cost cost = nullptr);

  const DeviceSpec& spec() const override { return spec_; }
  Allocator& allocator() override { return memory_; }
  Stream& compute() override { return streams_.compute; }
  Stream& copies() override { return streams_.copies; }
  Stream& communication() override { return streams_.communication; }
  KernelObserver* observer() override { return &observer_; }
  std::string_view kernel_kind() const override { return "null"; }
  Status synchronize() override { return streams_.synchronize(); }

  const VirtualClock& clock() const { return clock_; }            // of kernels
  const VirtualClock& link_clock() const { return link_clock_; }  // of copies, at the spec's link speed

 private:
  class Observer final : public KernelObserver {
   public:
    explicit Observer(NullDevice& device) : device_(device) {}
    Status before(std::string_view, Cancellation*) override { return {}; }
    void after(std::string_view node, std::int64_t elapsed_nanos) override;

   private:
    NullDevice& device_;
  };
  Status copy(const Buffer& from);

  const DeviceSpec spec_;
  const Cost cost_;
  VirtualClock clock_, link_clock_;
  Observer observer_{*this};
  NullAllocator memory_;
  HostStreams streams_;
};

}  // namespace argosy
