// Collectives between values and their shards: reduce_scatter_shards, all_gather of lists, all_to_all_parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <thread>

#include "argosy/base/threads/parallel.h"
#include "argosy/comm/inproc_group.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

void spawn(InprocGroup& group, const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < group.size(); ++r) {
    threads.emplace_back([&, r] {
      set_thread_budget(1);
      body(group.rank(r));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

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

// Parts of `n` elements: one for each rank, uneven, the first empty where there are several ranks.
std::vector<std::int64_t> ends_of(std::int64_t n, int ranks) {
  std::vector<std::int64_t> ends;
  for (int r = 1; r <= ranks; ++r) ends.push_back(ranks == 1 ? n : n * (r - 1) * r / ((ranks - 1) * ranks));
  return ends;
}

TEST(InprocShards, AReduceScatterHasTheBitsOfAnAllReduce) {
  using enum DType;
  const std::vector<std::int64_t> sizes = {10007, 0, 1, 130};
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt32, kInt64, kUint8, kUint16,
                            kUint32, kUint64, kComplex64, kComplex128}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      if (dtype != kFloat32 && ranks != 3) continue;
      for (const int total : {ranks, 8, 11}) {
        for (const Reduction reduction : {Reduction::kSum, Reduction::kMean}) {
          InprocGroup group(ranks);
          spawn(group, [&](Communicator& c) {
            // Rank r has shards r, r + ranks …
            std::vector<std::vector<Tensor>> mine;
            std::vector<Shard> shards;
            std::vector<Tensor> sums, parts;
            for (int s = c.rank(); s < total; s += ranks) {
              std::vector<Tensor>& values = mine.emplace_back();
              for (std::size_t i = 0; i < sizes.size(); ++i) {
                values.push_back(numbers(dtype, sizes[i], static_cast<unsigned>(s * 10) + static_cast<unsigned>(i)));
              }
            }
            for (std::size_t s = 0; s < mine.size(); ++s) {
              shards.push_back({c.rank() + static_cast<int>(s) * ranks, mine[s]});
            }
            for (const std::int64_t n : sizes) {
              const auto ends = ends_of(n, ranks);
              const std::int64_t begin = c.rank() == 0 ? 0 : ends[static_cast<std::size_t>(c.rank()) - 1];
              sums.push_back(Tensor::zeros(dtype, {n}));
              parts.push_back(Tensor::zeros(dtype, {ends[static_cast<std::size_t>(c.rank())] - begin}));
            }
            Status status = c.all_reduce_shards(shards, total, sums, reduction);
            ASSERT_TRUE(status.ok()) << status.to_string();
            status = c.reduce_scatter_shards(shards, total, parts, reduction);
            ASSERT_TRUE(status.ok()) << status.to_string();
            // Then the parts come together again, in place.
            std::vector<Tensor> wholes, own;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
              const auto ends = ends_of(sizes[i], ranks);
              const std::int64_t end = ends[static_cast<std::size_t>(c.rank())], begin = end - parts[i].elements();
              const Tensor expected = sums[i].rows(begin, end);
              EXPECT_EQ(std::memcmp(expected.raw(), parts[i].raw(), parts[i].bytes()), 0)
                  << dtype_name(dtype) << " value " << i << " rank " << c.rank() << " of " << ranks;
              wholes.push_back(Tensor::zeros(dtype, {sizes[i]}));
              own.push_back(wholes[i].rows(begin, end));
              if (own[i].bytes() > 0) std::memcpy(own[i].raw(), parts[i].raw(), parts[i].bytes());
            }
            ASSERT_TRUE(c.all_gather(own, wholes).ok());
            for (std::size_t i = 0; i < sizes.size(); ++i) {
              EXPECT_EQ(std::memcmp(sums[i].raw(), wholes[i].raw(), wholes[i].bytes()), 0);
            }
            // A part may lie where it lies in a shard of the rank's own.
            if (shards.empty()) {
              ASSERT_TRUE(c.reduce_scatter_shards(shards, total, parts, reduction).ok());
              return;
            }
            std::vector<Tensor> within;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
              const std::int64_t end = ends_of(sizes[i], ranks)[static_cast<std::size_t>(c.rank())];
              within.push_back(mine[0][i].rows(end - parts[i].elements(), end));
            }
            ASSERT_TRUE(c.reduce_scatter_shards(shards, total, within, reduction).ok());
            for (std::size_t i = 0; i < sizes.size(); ++i) {
              EXPECT_EQ(std::memcmp(within[i].raw(), parts[i].raw(), parts[i].bytes()), 0);
            }
          });
        }
      }
    }
  }
}

TEST(InprocShards, PartsOfAnySizeAreExchanged) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    InprocGroup group(ranks);
    spawn(group, [ranks](Communicator& c) {
      // Rank i has (i * j) % 3 * 700 elements for rank j, which say where they come from and go to; of two values.
      const auto part = [](int value, int from, int to) {
        Tensor t = Tensor::zeros(DType::kInt32, {std::int64_t{700} * ((from * to + value) % 3)});
        for (std::int32_t& v : t.values<std::int32_t>()) v = value * 10000 + from * 100 + to;
        return t;
      };
      std::vector<Tensor> in, out, expected;
      for (int value = 0; value < 2; ++value) {
        for (int peer = 0; peer < ranks; ++peer) {
          in.push_back(part(value, c.rank(), peer));
          expected.push_back(part(value, peer, c.rank()));
          out.push_back(Tensor::zeros(DType::kInt32, expected.back().shape()));
        }
      }
      ASSERT_TRUE(c.all_to_all_parts(in, out).ok());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(std::memcmp(out[i].raw(), expected[i].raw(), out[i].bytes()), 0) << "part " << i;
      }
    });
  }
}

TEST(InprocShards, WhatDoesNotFitIsOneErrorForAll) {
  InprocGroup group(2);
  spawn(group, [](Communicator& c) {
    const int r = c.rank();
    const Tensor whole = Tensor::zeros(DType::kFloat32, {5}), three = Tensor::zeros(DType::kFloat32, {3});
    const Shard own = {r, {&whole, 1}};
    const auto scatter = [&](const Tensor& out, int total = 2) {
      return c.reduce_scatter_shards({&own, 1}, total, {&out, 1}, Reduction::kSum);
    };
    EXPECT_THAT(scatter(three).message(), HasSubstr("the ranks' parts of 3, 3 elements do not make up the whole of 5"));
    EXPECT_THAT(scatter(three, 3).message(), HasSubstr("no rank holds shard 2"));
    const Tensor two = Tensor::zeros(r == 0 ? DType::kFloat32 : DType::kInt32, {2});
    EXPECT_THAT(scatter(two).message(), HasSubstr("ranks disagree"));
    const Tensor ints = Tensor::zeros(DType::kInt32, {r == 0 ? 3 : 2});
    EXPECT_THAT(scatter(ints).message(), HasSubstr("value 0 is float, its part int32"));
    const Tensor other = Tensor::zeros(DType::kFloat32, {r == 0 ? 5 : 6});
    const Shard odd = {r, {&other, 1}};
    EXPECT_THAT(c.reduce_scatter_shards({&odd, 1}, 2, {&three, 1}, Reduction::kSum).message(),
                HasSubstr("shard 1 on rank 1 is float[6], another float[5]"));
    // Neither the rank's own part nor apart.
    EXPECT_THAT(scatter(r == 0 ? whole.rows(1, 4) : whole.rows(3, 5)).message(), HasSubstr("overlap on rank 0"));
    EXPECT_THAT(c.all_gather(r == 0 ? three : two, whole).message(), HasSubstr("ranks disagree"));
    const std::vector<Tensor> one = {three};
    EXPECT_EQ(c.all_to_all_parts(one, one).id(), "ARG-COMM-001");
    const std::vector<Tensor> in = {three, three}, out = {Tensor::zeros(DType::kFloat32, {3}), whole};
    EXPECT_THAT(c.all_to_all_parts(in, out).message(), HasSubstr("which awaits float[5]"));
    EXPECT_TRUE(c.barrier().ok()) << "the group must be usable afterwards";
  });
}

}  // namespace
}  // namespace argosy
