#include "fuzz/op_calls/operator_new.h"

#include <execinfo.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace argosy::op_calls {

namespace {

std::atomic<std::int64_t> live{0};
std::atomic<std::uint64_t> count{0};
std::atomic<std::size_t> refused{0}, most{0};
std::atomic<std::uint64_t> fatal{0}, fatal_end{0};  // the counts that fail
std::atomic<HostMemory::Where*> noted{nullptr};
std::atomic<bool> has_failed{false};

bool may_have(std::size_t bytes) {
  const std::uint64_t n = count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (n >= fatal.load(std::memory_order_relaxed) && n < fatal_end.load(std::memory_order_relaxed)) {
    if (HostMemory::Where* const where = has_failed.exchange(true) ? nullptr : noted.load()) {
      where->size = backtrace(where->frames, HostMemory::Where::kMost);
    }
    return false;
  }
  const std::size_t limit = most.load(std::memory_order_relaxed);
  if (limit == 0) return true;
  if (bytes <= limit && live.load(std::memory_order_relaxed) <= static_cast<std::int64_t>(4 * limit)) return true;
  std::size_t before = refused.load();
  while (bytes > before && !refused.compare_exchange_weak(before, bytes)) {
  }
  return false;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (!may_have(bytes)) return nullptr;
  void* data = nullptr;
  if (alignment <= alignof(std::max_align_t)) {
    data = std::malloc(bytes);
  } else if (posix_memalign(&data, alignment, bytes) != 0) {
    data = nullptr;
  }
  if (data != nullptr) live.fetch_add(static_cast<std::int64_t>(malloc_usable_size(data)), std::memory_order_relaxed);
  return data;
}

void give(void* data) noexcept {
  if (data == nullptr) return;
  live.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(data)), std::memory_order_relaxed);
  std::free(data);
}

}  // namespace

std::int64_t HostMemory::live_bytes() { return live.load(); }
std::uint64_t HostMemory::allocations() { return count.load(); }
std::size_t HostMemory::take_refused() { return refused.exchange(0); }
void HostMemory::limit(std::size_t bytes) { most.store(bytes); }
bool HostMemory::fail_at(std::uint64_t n, std::uint64_t more) {
  fatal_end.store(0);
  const bool failed = has_failed.exchange(false);
  if (n == 0) return failed;
  fatal.store(count.load() + n);
  fatal_end.store(count.load() + n + more + 1);
  return failed;
}
void HostMemory::note_where(Where* where) {
  void* first[1];
  backtrace(first, 1);  // what it loads at its first call, it has
  noted.store(where);
}

}  // namespace argosy::op_calls

using argosy::op_calls::give;
using argosy::op_calls::take;

namespace {
void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const data = take(bytes, alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
constexpr std::size_t kPlain = alignof(std::max_align_t);
}  // namespace

void* operator new(std::size_t n) { return take_or_throw(n, kPlain); }
void* operator new[](std::size_t n) { return take_or_throw(n, kPlain); }
void* operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return take(n, kPlain); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return take(n, kPlain); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
