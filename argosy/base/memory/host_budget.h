// A running budget of host memory outside the devices' allocators: strings, files that are read, graphs as they came,
// functions put in place of their callers, decoded images. Who takes such memory for longer than a call reserves it;
// a reservation gives it back when it goes. One for the process, as the heap is.
//
// What is reserved is an estimate of what the heap holds. Pieces below some KiB may go without.
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

enum class HostUse : std::uint8_t { kStrings, kFiles, kGraphs, kFunctions, kImages };
inline constexpr int kHostUses = 5;

// Thread-safe.
class HostBudget {
 public:
  // Bytes of the budget; may be empty. Movable. Thread-compatible.
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

  // RESOURCE_EXHAUSTED "ARG-MEM-004", which says what was asked for, what is in use and by whom, where it does not fit.
  // `what` begins the message: "the contents of /x/y". About 10 ns.
  Result<Reservation> reserve(HostUse use, std::int64_t bytes, std::string_view what);
  // Would it fit? Same error; nothing is held.
  Status check(std::int64_t bytes, std::string_view what) const;

  std::int64_t in_use() const { return total_.load(std::memory_order_relaxed); }
  std::int64_t limit() const;  // bytes
  // A quarter of memory_of_process(), unless somebody (a machine with --mem cpu:0=…) says something else: while what is
  // returned lives. Of several the largest counts.
  std::shared_ptr<void> with_limit(std::int64_t bytes) ARGOSY_EXCLUDES(mutex_);

 private:
  Status refused(std::int64_t bytes, std::string_view what) const;

  Mutex mutex_;
  std::multiset<std::int64_t> limits_ ARGOSY_GUARDED_BY(mutex_);
  std::atomic<std::int64_t> limit_{0};  // the largest of them; 0: none
  std::atomic<std::int64_t> total_{0};
  std::array<std::atomic<std::int64_t>, kHostUses> uses_{};
};

// The process's. Lives for ever.
HostBudget& host_budget();

}  // namespace argosy
