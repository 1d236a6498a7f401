// HostBudget: a budget for host memory outside the devices' allocators: strings, files being read, imported graphs,
// inlined functions, decoded images, buffers of datasets and queues. Code that holds such memory longer than one call
// reserves it. A reservation returns its bytes when it is destroyed. One budget for the process, as there is one heap.
//
// A reservation is an estimate of the heap memory. Pieces of a few KiB may go without one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy {

enum class HostUse : std::uint8_t { kStrings, kFiles, kGraphs, kFunctions, kImages, kBuffers };
inline constexpr int kHostUses = 6;

// Thread-safe.
class HostBudget {
 public:
  // Owns reserved bytes of the budget, and returns them when destroyed. May be empty. Movable. Thread-compatible.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      if (this == &other) return *this;
      give_back();
      budget_ = std::exchange(other.budget_, nullptr);
      use_ = other.use_;
      bytes_ = std::exchange(other.bytes_, 0);
      return *this;
    }
    ~Reservation() { give_back(); }

    std::int64_t bytes() const { return bytes_; }
    void give_back();

   private:
    friend class HostBudget;
    Reservation(HostBudget* budget, HostUse use, std::int64_t bytes) : budget_(budget), use_(use), bytes_(bytes) {}
    HostBudget* budget_ = nullptr;
    HostUse use_ = HostUse::kStrings;
    std::int64_t bytes_ = 0;
  };

  // Reserves bytes. RESOURCE_EXHAUSTED (ARG-MEM-004) when they do not fit, with the request and the present use by
  // kind. `what` begins the message: "the contents of /x/y". About 10 ns.
  Result<Reservation> reserve(HostUse use, std::int64_t bytes, std::string_view what);
  // The error that reserve() would return; reserves nothing.
  Status check(std::int64_t bytes, std::string_view what) const;

  std::int64_t in_use() const { return total_.load(std::memory_order_relaxed); }
  std::int64_t limit() const;  // bytes
  // Sets a limit while the returned object lives. The default is a quarter of memory_of_process(); a machine with --mem
  // cpu:0=… sets another. Of several limits the largest counts.
  std::shared_ptr<void> with_limit(std::int64_t bytes) ARGOSY_EXCLUDES(mutex_);

 private:
  Status refused(std::int64_t bytes, std::string_view what) const;

  Mutex mutex_;
  std::multiset<std::int64_t> limits_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> limit_{0};  // the largest of them; 0: none
  std::atomic<std::int64_t> total_{0};
  std::array<std::atomic<std::int64_t>, kHostUses> uses_{};
};

// The budget of this process. Never destroyed.
HostBudget& host_budget();

}  // namespace argosy
