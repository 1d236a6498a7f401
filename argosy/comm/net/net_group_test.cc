// Collectives between tasks: their bits are those of one process, errors reach every task, nothing hangs.
#include "argosy/comm/net/net_group.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "argosy/base/clock.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/comm/net/net_test_support.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

#define NEEDS_GLOO() \
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build"

// Numbers whose sum depends on the order of additions, for the dtypes that have one.
Tensor numbers(DType dtype, std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  Tensor t = Tensor::zeros(dtype, {elements});
  (void)dispatch<NumberTypes>(dtype, "numbers", [&]<typename T>() {
    for (T& v : t.values<T>()) {
      const int n = static_cast<int>(random() % 2001) - 1000;
      if constexpr (std::is_integral_v<T>) {
        v = static_cast<T>(n);
      } else {
        v = T(static_cast<float>(n) / 7.0F);
      }
    }
    return ok_status();
  });
  return t;
}

bool identical(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// The first shard of each task, and the end.
using Shares = std::vector<int>;

// What one process gives: a rank for each task.
std::vector<Tensor> in_one_process(const std::vector<std::vector<Tensor>>& shards, Reduction reduction) {
  InprocGroup group(1);
  std::vector<Shard> all;
  std::vector<Tensor> out;
  for (std::size_t s = 0; s < shards.size(); ++s) all.push_back({static_cast<int>(s), shards[s]});
  for (const Tensor& t : shards[0]) out.push_back(Tensor::zeros(t.dtype(), {t.elements()}));
  EXPECT_TRUE(group.rank(0).all_reduce_shards(all, static_cast<int>(shards.size()), out, reduction).ok());
  return out;
}

void expect_tree_bits(NetGroup& c, const Shares& shares, DType dtype, const std::vector<std::int64_t>& sizes,
                      Reduction reduction) {
  std::vector<std::vector<Tensor>> shards;
  for (int s = 0; s < shares.back(); ++s) {
    std::vector<Tensor>& values = shards.emplace_back();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      values.push_back(numbers(dtype, sizes[i], static_cast<unsigned>(s * 10) + static_cast<unsigned>(i)));
    }
  }
  const std::vector<Tensor> expected = in_one_process(shards, reduction);
  std::vector<Shard> mine;
  std::vector<Tensor> out;
  for (const std::int64_t n : sizes) out.push_back(Tensor::zeros(dtype, {n}));
  const auto rank = static_cast<std::size_t>(c.rank());
  for (int s = shares[rank]; s < shares[rank + 1]; ++s) mine.push_back({s, shards[static_cast<std::size_t>(s)]});
  const Status status = c.all_reduce_shards(mine, shares.back(), out, reduction, {.name = "sum"});
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_TRUE(identical(out[i], expected[i]))
        << dtype_name(dtype) << " " << reduction_name(reduction) << " of " << sizes[i] << " on rank " << c.rank()
        << " of " << c.size() << ", shards " << shares[rank] << " to " << shares[rank + 1];
  }
}

Shares one_each(int tasks) {
  Shares shares;
  for (int t = 0; t <= tasks; ++t) shares.push_back(t);
  return shares;
}

TEST(NetGroup, AllReduceOfShardsHasTheBitsOfTheTree) {
  NEEDS_GLOO();
  for (const int tasks : {1, 2, 3, 4, 5, 8}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      for (const std::int64_t n : {0, 1, 7, 5003})
        expect_tree_bits(c, one_each(tasks), DType::kFloat32, {n}, Reduction::kSum);
      expect_tree_bits(c, one_each(tasks), DType::kFloat32, {1'000'003}, Reduction::kMean);
      expect_tree_bits(c, one_each(tasks), DType::kFloat32, {17, 0, 9001, 1}, Reduction::kSum);
    });
  }
}

TEST(NetGroup, EveryDtypeAndReduction) {
  NEEDS_GLOO();
  using enum DType;
  for (const int tasks : {2, 3, 4}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16,
                                kUint32, kUint64, kComplex64, kComplex128}) {
        for (const Reduction r :
             {Reduction::kSum, Reduction::kMean, Reduction::kMin, Reduction::kMax, Reduction::kProd}) {
          if (is_complex(dtype) && r != Reduction::kSum && r != Reduction::kMean) continue;
          for (const std::int64_t n : {3, 5003}) expect_tree_bits(c, one_each(tasks), dtype, {n}, r);
          Shares two;
          for (int t = 0; t <= tasks; ++t) two.push_back(2 * t);
          expect_tree_bits(c, two, dtype, {5003, 3}, r);
        }
      }
    });
  }
}

TEST(NetGroup, TheBitsDoNotDependOnHowShardsAreSpread) {
  NEEDS_GLOO();
  const std::vector<Shares> all = {{0, 4, 8},    {0, 3, 6},       {0, 1, 2, 4},    {0, 2, 4, 6}, {0, 5, 8},
                                   {0, 0, 3, 7}, {0, 1, 1, 4, 5}, {0, 2, 4, 6, 8}, {0, 4, 4},    {0, 3, 7, 7, 8, 11}};
  for (const Shares& shares : all) {
    spawn_tasks(static_cast<int>(shares.size()) - 1, [&](NetGroup& c) {
      for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
        for (const std::int64_t n : {1, 5003, 40'001}) expect_tree_bits(c, shares, dtype, {n, 5}, Reduction::kSum);
        expect_tree_bits(c, shares, dtype, {70'000}, Reduction::kMean);
      }
    });
  }
}

// More than 16 tasks have no connection for every pair.
TEST(NetGroup, LargeGroupsHalveAndGather) {
  NEEDS_GLOO();
  for (const int tasks : {17, 32}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      expect_tree_bits(c, one_each(tasks), DType::kFloat32, {7001}, Reduction::kSum);
      expect_tree_bits(c, one_each(tasks), DType::kFloat32, {7001, 2}, Reduction::kMean);
      expect_tree_bits(c, one_each(tasks), DType::kBfloat16, {12'000}, Reduction::kSum);
      EXPECT_TRUE(c.barrier().ok());
    });
  }
}

// Several chunks, and shards that are the result's own memory.
TEST(NetGroup, LongArraysInPlaceToo) {
  NEEDS_GLOO();
  for (const int tasks : {2, 3}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      for (const std::int64_t n : {2'200'001}) {
        expect_tree_bits(c, one_each(tasks), DType::kFloat32, {n}, Reduction::kSum);
        std::vector<std::vector<Tensor>> all;
        for (int t = 0; t < tasks; ++t) all.push_back({numbers(DType::kFloat32, n, static_cast<unsigned>(t))});
        const Tensor expected = in_one_process(all, Reduction::kSum)[0];
        const Tensor mine = all[static_cast<std::size_t>(c.rank())][0];
        const Shard shard{c.rank(), {&mine, 1}};
        ASSERT_TRUE(c.all_reduce_shards({&shard, 1}, tasks, {&mine, 1}, Reduction::kSum).ok());
        EXPECT_TRUE(identical(mine, expected)) << n << " on rank " << c.rank() << " of " << tasks;
      }
    });
  }
}

TEST(NetGroup, AllReduceAddsInTheOrderOfTheRanks) {
  NEEDS_GLOO();
  for (const int tasks : {2, 3, 5, 8}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      for (const std::int64_t n : {1, 5003, 100'000}) {
        std::vector<float> expected(static_cast<std::size_t>(n), 0);
        for (int r = 0; r < tasks; ++r) {
          const Tensor t = numbers(DType::kFloat32, n, static_cast<unsigned>(r));
          for (std::size_t i = 0; i < expected.size(); ++i) {
            expected[i] = r == 0 ? t.data<float>()[i] : expected[i] + t.data<float>()[i];
          }
        }
        const Tensor t = numbers(DType::kFloat32, n, static_cast<unsigned>(c.rank()));
        ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kSum).ok());
        EXPECT_EQ(std::memcmp(t.raw(), expected.data(), t.bytes()), 0)
            << n << " on rank " << c.rank() << " of " << tasks;
      }
    });
  }
}

TEST(NetGroup, MovesValues) {
  NEEDS_GLOO();
  for (const int tasks : {1, 2, 3, 5}) {
    spawn_tasks(tasks, [&](NetGroup& c) {
      const int r = c.rank();
      // Rank r has r + 1 elements, all r.
      std::vector<float> own(static_cast<std::size_t>(r) + 1, static_cast<float>(r)), all;
      for (int k = 0; k < tasks; ++k) all.insert(all.end(), static_cast<std::size_t>(k) + 1, static_cast<float>(k));
      const Tensor in = Tensor::vector(own),
                   out = Tensor::zeros(DType::kFloat32, {static_cast<std::int64_t>(all.size())});
      ASSERT_TRUE(c.all_gather(in, out).ok());
      EXPECT_EQ(std::vector<float>(out.values<float>().begin(), out.values<float>().end()), all);

      for (const std::int64_t n : {1, 100'000}) {
        const Tensor t = numbers(DType::kInt32, n, static_cast<unsigned>(r));
        ASSERT_TRUE(c.broadcast({&t, 1}, tasks - 1).ok());
        EXPECT_TRUE(identical(t, numbers(DType::kInt32, n, static_cast<unsigned>(tasks - 1))));
      }

      const Tensor whole = numbers(DType::kFloat32, all.size(), 7), part = Tensor::zeros(DType::kFloat32, {r + 1});
      const Tensor sum = whole.clone();
      ASSERT_TRUE(c.all_reduce({&sum, 1}, Reduction::kMean).ok());
      ASSERT_TRUE(c.reduce_scatter(whole, part, Reduction::kMean).ok());
      EXPECT_EQ(std::memcmp(part.raw(), sum.data<float>() + r * (r + 1) / 2, part.bytes()), 0);

      std::vector<std::int64_t> mine, theirs;
      for (int k = 0; k < tasks; ++k) {
        mine.push_back(10 * r + k);
        theirs.push_back(10 * k + r);
      }
      const Tensor sent = Tensor::vector(mine), got = Tensor::zeros(DType::kInt64, {tasks});
      ASSERT_TRUE(c.all_to_all(sent, got).ok());
      EXPECT_EQ(std::vector<std::int64_t>(got.values<std::int64_t>().begin(), got.values<std::int64_t>().end()),
                theirs);

      if (tasks > 1 && r < 2) {
        const Tensor message = Tensor::scalar(static_cast<double>(r));
        if (r == 0) {
          ASSERT_TRUE(c.send(message, 1, {.name = "hello"}).ok());
          ASSERT_TRUE(c.recv(message, 1, {.name = "back"}).ok());
          EXPECT_EQ(*message.data<double>(), 5);
        } else {
          ASSERT_TRUE(c.recv(message, 0, {.name = "hello"}).ok());
          EXPECT_EQ(*message.data<double>(), 0);
          ASSERT_TRUE(c.send(Tensor::scalar(5.0), 0, {.name = "back"}).ok());
        }
      }
    });
  }
}

TEST(NetGroup, ValuesOfAnyShapeReachEveryTask) {
  NEEDS_GLOO();
  spawn_tasks(3, [](NetGroup& c) {
    const auto body = [&](std::int64_t rows) {
      std::vector<Tensor> own = {
          numbers(DType::kFloat32, c.rank() * rows, static_cast<unsigned>(c.rank())).reshaped({c.rank(), rows}),
          Tensor::scalar(static_cast<std::int64_t>(c.rank()))};
      std::vector<Tensor> all;
      Mutex mutex;
      CondVar ended;
      bool over = false;
      c.start_gather_values(own, 9, [&](Result<std::vector<Tensor>> got) {
        MutexLock lock(mutex);
        ASSERT_TRUE(got.ok()) << got.status().to_string();
        all = *std::move(got);
        over = true;
        ended.notify_all();
      });
      MutexLock lock(mutex);
      while (!over) ended.wait(mutex);
      ASSERT_EQ(all.size(), 6U);
      for (int r = 0; r < 3; ++r) {
        EXPECT_EQ(all[2 * r].shape(), Shape({r, rows}));
        EXPECT_EQ(*all[2 * r + 1].data<std::int64_t>(), r);
        EXPECT_TRUE(
            identical(all[2 * r], numbers(DType::kFloat32, r * rows, static_cast<unsigned>(r)).reshaped({r, rows})));
      }
    };
    for (const std::int64_t rows : {1, 2000, 3}) body(rows);
  });
}

TEST(NetGroup, TasksThatDisagreeAllGetOneErrorAndGoOn) {
  NEEDS_GLOO();
  spawn_tasks(3, [](NetGroup& c) {
    const Tensor t = Tensor::zeros(DType::kFloat32, {c.rank() == 1 ? 8 : 4});
    const Status status = c.all_reduce({&t, 1}, Reduction::kSum, {.name = "bucket 3"});
    EXPECT_EQ(status.id(), "ARG-COMM-001");
    EXPECT_THAT(status.message(),
                HasSubstr("ranks 0, 2: all_reduce(sum) \"bucket 3\" of float[4]; rank 1: all_reduce(sum) "
                          "\"bucket 3\" of float[8]"));
    const Tensor none = Tensor::zeros(DType::kString, {1});
    const Status bad = c.rank() == 2 ? c.broadcast({&none, 1}, 0) : c.barrier();
    EXPECT_EQ(bad.id(), "ARG-COMM-001");
    EXPECT_THAT(bad.message(), HasSubstr("string"));
    EXPECT_TRUE(c.barrier().ok());
  });
}

TEST(NetGroup, ADeadlineEndsTheGroupOnEveryTask) {
  NEEDS_GLOO();
  spawn_tasks(3, [](NetGroup& c) {
    const std::int64_t began = now_nanos();
    if (c.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      EXPECT_FALSE(c.barrier().ok());
      return;
    }
    const Status status =
        c.barrier({.name = "late", .timeout = std::chrono::milliseconds(c.rank() == 0 ? 200 : 30'000)});
    EXPECT_EQ(status.id(), c.rank() == 0 ? "ARG-COMM-002" : "ARG-COMM-025") << status.to_string();
    EXPECT_LT(seconds_since(began), 5);
    EXPECT_EQ(c.barrier().message(), status.message()) << "the first cause stays";
  });
}

TEST(NetGroup, AbortEndsAWaitWithItsCause) {
  NEEDS_GLOO();
  spawn_tasks(2, [](NetGroup& c) {
    if (c.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      c.abort(aborted("enough").with_id("ARG-TRAIN-001"));
      return;
    }
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      c.abort(unavailable("the coordinator says so"));
    });
    const std::int64_t began = now_nanos();
    const Status status = c.barrier();
    EXPECT_THAT(status.message(), HasSubstr("the coordinator says so"));
    EXPECT_LT(seconds_since(began), 1.5);
    other.join();
  });
}

}  // namespace
}  // namespace argosy
