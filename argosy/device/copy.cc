#include "argosy/device/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "argosy/base/threads/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "argosy/device/copy.cc"
#include <hwy/foreach_target.h>
// Included after foreach_target.h, as Highway requires.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace argosy {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// REQUIRES: `to` aligned to a cache line.
void stream_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= bytes; i += 4 * lanes) {
    const auto a = hn::LoadU(d, from + i);
    const auto b = hn::LoadU(d, from + i + lanes);
    const auto c = hn::LoadU(d, from + i + 2 * lanes);
    const auto e = hn::LoadU(d, from + i + 3 * lanes);
    hn::Stream(a, d, to + i);
    hn::Stream(b, d, to + i + lanes);
    hn::Stream(c, d, to + i + 2 * lanes);
    hn::Stream(e, d, to + i + 3 * lanes);
  }
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace argosy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace argosy {

HWY_EXPORT(stream_bytes);

namespace {
constexpr std::size_t kPastCaches = std::size_t{4} << 20;  // twice the second-level cache of today's servers
constexpr std::size_t kLine = 64;
constexpr std::int64_t kGrain = std::int64_t{1} << 20;

// Prefetches lines that another core has written. Without it they arrive one by one; this saves four fifths of a hop of
// 4 KB.
constexpr std::size_t kFetchFrom = 1024, kFetchTo = 16384;
void fetch_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine) {
    __builtin_prefetch(from + i);
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(to[i]));  // GCC's own needs a target flag; without the feature it does nothing
#else
    __builtin_prefetch(to + i, 1);
#endif
  }
}
}  // namespace

void stream_memory(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const std::size_t head = std::min((kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine, bytes);
  if (head > 0) std::memcpy(out, in, head);
  HWY_DYNAMIC_DISPATCH(stream_bytes)(out + head, in + head, bytes - head);
}

void copy_memory(void* to, const void* from, std::size_t bytes) {
  if (bytes < kPastCaches) {
    if (bytes >= kFetchFrom && bytes <= kFetchTo)
      fetch_lines(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  parallel_for_whole(static_cast<std::int64_t>(bytes), kGrain, [&](std::int64_t begin, std::int64_t end) {
    stream_memory(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                  static_cast<std::size_t>(end - begin));
  });
}

}  // namespace argosy
#endif  // HWY_ONCE
