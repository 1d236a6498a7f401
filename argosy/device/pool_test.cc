#include "argosy/device/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace argosy {
namespace {

TEST(Pool, BuffersAreAlignedWritableAndApart) {
  PoolAllocator pool("cpu:0", 0);
  std::vector<Buffer> buffers;
  for (std::size_t bytes = 0; bytes < 300; bytes += 7) {
    buffers.push_back(pool.allocate(bytes).value());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffers.back().data()) % kBufferAlignment, 0u);
    std::memset(buffers.back().data(), static_cast<int>(buffers.size()), bytes);
  }
  for (std::size_t bytes : {65536u, 65537u, 5000000u}) {
    buffers.push_back(pool.allocate(bytes).value());
    std::memset(buffers.back().data(), static_cast<int>(buffers.size()), bytes);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    EXPECT_TRUE(std::all_of(b.data(), b.data() + b.bytes(), [i](std::byte v) { return v == std::byte(i + 1); }));
  }
}

TEST(Pool, CapIsExactAndTheErrorSaysWhatIsLive) {
  PoolAllocator pool("gpu:0", 64 << 20);
  const Buffer large = pool.allocate(40 << 20).value();
  const Buffer small = pool.allocate(8 << 20).value();
  EXPECT_TRUE(pool.allocate(16 << 20).ok());
  const Status refused = pool.allocate((16 << 20) + 1).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.id(), "ARG-MEM-001");
  EXPECT_EQ(refused.message(),
            "memory of gpu:0: 16.0 MiB (16777217 B) requested, 48.0 MiB in use, limit 64.0 MiB, 16.0 MiB (16777216 B) "
            "free; largest of 2 live: 40.0 MiB, 8.0 MiB");
  EXPECT_NE(refused.hint().find("--mem gpu:0="), std::string::npos);
  EXPECT_EQ(pool.stats().in_use_bytes, std::uint64_t{48} << 20);
  EXPECT_EQ(pool.stats().peak_bytes, std::uint64_t{64} << 20);
  EXPECT_FALSE(pool.allocate(std::size_t(-1)).ok());
  EXPECT_FALSE(PoolAllocator("cpu:0", 0).allocate(std::size_t(-1)).ok());
}

TEST(Pool, KeptMemoryIsReusedAndMakesRoomUnderTheCap) {
  PoolAllocator pool("gpu:0", 64 << 20);
  const std::byte* first = pool.allocate(10 << 20).value().data();
  EXPECT_EQ(pool.allocate(10 << 20).value().data(), first);
  EXPECT_EQ(pool.allocate(9 << 20).value().data(), first) << "a block a little larger serves too";
  EXPECT_GE(pool.held_bytes(), std::uint64_t{10} << 20);
  { const Buffer all = pool.allocate(64 << 20).value(); }
  EXPECT_LE(pool.held_bytes(), (std::uint64_t{64} << 20) + (1 << 20));
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(Pool, ASteadyStepTakesNothingFromTheSystem) {
  PoolAllocator pool("cpu:0", 0);
  const std::size_t sizes[] = {4, 100, 4096, 70000, 1 << 20, 3 << 20};
  const auto step = [&] {
    std::vector<Buffer> live;
    for (int i = 0; i < 10; ++i) {
      for (std::size_t bytes : sizes) live.push_back(pool.allocate(bytes).value());
    }
  };
  step();
  const std::uint64_t held = pool.held_bytes();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(pool.held_bytes(), held);
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(Pool, BuffersOutliveTheAllocator) {
  Buffer survivor;
  {
    PoolAllocator pool("cpu:0", 0);
    survivor = pool.allocate(1 << 20).value();
    std::memset(survivor.data(), 7, survivor.bytes());
  }
  EXPECT_EQ(survivor.data()[(1 << 20) - 1], std::byte(7));
}

TEST(Pool, TheNthAllocationFailsOnceForEveryN) {
  for (int n = 1; n <= 8; ++n) {
    PoolAllocator pool("gpu:0", 1 << 20);
    pool.fail_allocation(n);
    for (int i = 1; i <= 8; ++i) {
      const Result<Buffer> buffer = pool.allocate(100);
      EXPECT_EQ(buffer.ok(), i != n);
      if (i == n) {
        EXPECT_NE(buffer.status().message().find("injected fault"), std::string::npos);
      }
    }
    EXPECT_EQ(pool.stats().in_use_bytes, 0u);
  }
}

TEST(Pool, ManyThreadsRandomSizes) {
  PoolAllocator pool("cpu:0", std::uint64_t{256} << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<Buffer> live;
      for (int i = 0; i < 2000; ++i) {
        if (live.size() > 20 || (!live.empty() && random() % 2 == 0)) {
          const std::size_t at = random() % live.size();
          const Buffer& b = live[at];
          for (std::size_t k = 0; k < b.bytes(); k += 997) ASSERT_EQ(b.data()[k], std::byte(t));
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
          continue;
        }
        const Result<Buffer> buffer = pool.allocate(random() % (1u << (random() % 21)));
        ASSERT_TRUE(buffer.ok());
        std::memset(buffer->data(), t, buffer->bytes());
        live.push_back(*buffer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(Pool, HostMemoryIsKnown) { EXPECT_GT(host_memory_bytes(), std::uint64_t{64} << 20); }

}  // namespace
}  // namespace argosy
