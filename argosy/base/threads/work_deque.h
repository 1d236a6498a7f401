// WorkDeque: the task queue of one worker. The owner pushes and pops at one end, last in first out; other threads steal
// the oldest task at the other end. After Chase and Lev, "Dynamic Circular Work-Stealing Deque" (SPAA 2005), with a
// fixed ring.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace argosy {

struct PoolTask {
  void (*run)(void* argument) = nullptr;
  void* argument = nullptr;
};

class WorkDeque {
 public:
  static constexpr std::int64_t kCapacity = 1024;

  // Owner only. False when full.
  bool push(PoolTask task) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom - top_.load(std::memory_order_acquire) >= kCapacity) return false;
    write(bottom, task);
    bottom_.store(bottom + 1, std::memory_order_seq_cst);
    return true;
  }

  // Owner only: takes the youngest task. False when empty.
  bool pop(PoolTask* task) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    // Announced before looking at top_: whichever of owner and thief comes second sees the other.
    bottom_.store(bottom, std::memory_order_seq_cst);
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_release);
      return false;
    }
    *task = read(bottom);
    if (top < bottom) return true;
    // The last one: a thief may be after it.
    const bool won = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
    bottom_.store(bottom + 1, std::memory_order_release);
    return won;
  }

  // Any thread: takes the oldest task. False when empty, or when another thread took it first.
  bool steal(PoolTask* task) {
    std::int64_t top = top_.load(std::memory_order_seq_cst);
    if (top >= bottom_.load(std::memory_order_seq_cst)) return false;
    // May be overwritten while it is read, but then top_ has moved and the exchange fails.
    *task = read(top);
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst);
  }

  bool empty() const { return top_.load(std::memory_order_seq_cst) >= bottom_.load(std::memory_order_seq_cst); }

 private:
  struct Slot {
    std::atomic<void (*)(void*)> run{nullptr};
    std::atomic<void*> argument{nullptr};
  };
  Slot& slot(std::int64_t index) { return slots_[static_cast<std::size_t>(index & (kCapacity - 1))]; }
  void write(std::int64_t index, PoolTask task) {
    slot(index).run.store(task.run, std::memory_order_relaxed);
    slot(index).argument.store(task.argument, std::memory_order_relaxed);
  }
  PoolTask read(std::int64_t index) {
    return {slot(index).run.load(std::memory_order_relaxed), slot(index).argument.load(std::memory_order_relaxed)};
  }

  alignas(64) std::atomic<std::int64_t> top_{0};
  alignas(64) std::atomic<std::int64_t> bottom_{0};
  alignas(64) std::array<Slot, kCapacity> slots_;
};

}  // namespace argosy
