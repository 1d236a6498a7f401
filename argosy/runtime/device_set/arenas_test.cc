#include "argosy/runtime/device_set/arenas.h"

#include <gtest/gtest.h>

#include <cmath>

#include "argosy/device/pool.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

TEST(Arenas, LendWhatRestsAndGrowInsteadOfAdding) {
  PoolAllocator pool("gpu:0", 0);
  Arenas arenas(pool);
  Buffer small = *arenas.lend(1000, nullptr);
  const std::byte* const at = small.data();
  arenas.take_back(std::move(small));
  EXPECT_GE(arenas.idle_bytes(), 1000u);
  Buffer again = *arenas.lend(500, nullptr);
  EXPECT_EQ(again.data(), at);
  EXPECT_EQ(arenas.idle_bytes(), 0u);
  arenas.take_back(std::move(again));
  arenas.take_back(*arenas.lend(100'000, nullptr));
  EXPECT_LT(pool.stats().in_use_bytes, 101'000u) << "the small one went";
}

TEST(Arenas, PreferWhereTheStepRanBefore) {
  PoolAllocator pool("gpu:0", 0);
  Arenas arenas(pool);
  Buffer a = *arenas.lend(1000, nullptr), b = *arenas.lend(2000, nullptr);
  const std::byte* const large = b.data();
  arenas.take_back(std::move(a));
  arenas.take_back(std::move(b));
  EXPECT_EQ(arenas.lend(900, large)->data(), large);
}

TEST(Arenas, MakeRoomUnderACapBeforeTheyRefuse) {
  PoolAllocator pool("gpu:0", 10'000);
  Arenas arenas(pool);
  Buffer a = *arenas.lend(3000, nullptr), b = *arenas.lend(3000, nullptr);
  arenas.take_back(std::move(a));
  arenas.take_back(std::move(b));
  EXPECT_TRUE(arenas.lend(9000, nullptr).ok());
  EXPECT_EQ(arenas.lend(20'000, nullptr).status().code(), Code::kResourceExhausted);
}

// Steps of a session that never run at once take the memory of the largest, and each finds its own values again.
TEST(Arenas, AreSharedBySteps) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 512}, "x");
  Value y = x;
  for (int i = 0; i < 4; ++i) y = tanh(matmul(y, constant(g, Tensor::zeros(DType::kFloat32, {512, 512}))) + 1.0);
  const Value sum = reduce_sum(y);
  Session session(g, {.devices = {.devices = "gpu:0", .emulate = "1"}, .optimize = false});
  const auto run = [&](std::int64_t rows) {
    auto out = session.run({{x, Tensor::zeros(DType::kFloat32, {rows, 512})}}, {sum});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_NEAR((*out)[0].data<float>()[0], std::tanh(1.0f) * static_cast<float>(rows) * 512, 1e-3f * rows * 512);
  };
  Allocator& memory = session.device_set().device(1).allocator();
  run(2048);
  const std::uint64_t one = memory.stats().in_use_bytes;
  for (const std::int64_t rows : {1024, 2048, 1536, 600, 2048}) run(rows);
  EXPECT_LE(memory.stats().in_use_bytes, one + one / 100);
}

}  // namespace
}  // namespace argosy
