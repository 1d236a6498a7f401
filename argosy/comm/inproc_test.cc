#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/comm/inproc_group.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

// Runs `body` as every rank of a group, each on a thread of its own.
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

// The values rank r contributes: small whole numbers, so that any order of adding gives the same.
Tensor values_of(int rank, std::int64_t n, std::int64_t seed = 0) {
  Tensor t = Tensor::zeros(DType::kFloat32, {n});
  for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>((i * 7 + rank * 13 + seed) % 101);
  return t;
}

TEST(Inproc, AllReduceOfAnySizeOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    InprocGroup group(ranks);
    spawn(group, [ranks](Communicator& c) {
      for (const std::int64_t n : {0, 1, 5, 63, 1000, 16385, 300001}) {
        const Tensor t = values_of(c.rank(), n, n);
        ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kSum).ok());
        for (std::int64_t i = 0; i < n; ++i) {
          float expected = 0;
          for (int r = 0; r < ranks; ++r) expected += static_cast<float>((i * 7 + r * 13 + n) % 101);
          ASSERT_EQ(t.data<float>()[i], expected) << "element " << i << " of " << n << " on rank " << c.rank();
        }
      }
    });
  }
}

TEST(Inproc, AListOfTensorsIsOneArray) {
  InprocGroup group(3);
  spawn(group, [](Communicator& c) {
    std::vector<Tensor> list;
    for (const std::int64_t n : {3, 0, 1, 100000, 17, 2}) list.push_back(values_of(c.rank(), n));
    list.push_back(Tensor::of<std::int64_t>({2}, {c.rank() + 1, 10 * c.rank()}));
    ASSERT_TRUE(c.all_reduce(list, Reduction::kMax, {.name = "bucket 0"}).ok());
    EXPECT_EQ(list.back().data<std::int64_t>()[0], 3);
    EXPECT_EQ(list.back().data<std::int64_t>()[1], 20);
    for (std::int64_t i = 0; i < 100000; ++i) {
      float expected = 0;
      for (int r = 0; r < 3; ++r) expected = std::max(expected, static_cast<float>((i * 7 + r * 13) % 101));
      ASSERT_EQ(list[3].data<float>()[i], expected);
    }
  });
}

TEST(Inproc, MeanOfComplexAndHalf) {
  InprocGroup group(2);
  spawn(group, [](Communicator& c) {
    const auto r = static_cast<float>(c.rank());
    const std::vector<Tensor> list = {Tensor::of<std::complex<float>>({1}, {{1 + r, 4 * r}}),
                                      Tensor::of<bfloat16>({1}, {bfloat16(3 * r)})};
    ASSERT_TRUE(c.all_reduce(list, Reduction::kMean).ok());
    EXPECT_EQ(list[0].data<std::complex<float>>()[0], std::complex<float>(1.5f, 2.0f));
    EXPECT_EQ(float(list[1].data<bfloat16>()[0]), 1.5f);
  });
}

// Random floats: bits must repeat from run to run and be equal on every rank.
TEST(Inproc, EqualInputsGiveEqualBits) {
  constexpr std::int64_t kElements = 70001;
  std::vector<float> first;
  for (int run = 0; run < 3; ++run) {
    InprocGroup group(4);
    std::vector<Tensor> results(4);
    spawn(group, [&](Communicator& c) {
      std::mt19937 random(static_cast<unsigned>(c.rank()));
      Tensor t = Tensor::zeros(DType::kFloat32, {kElements});
      for (float& v : t.values<float>()) v = static_cast<float>(random()) / 1e9f;
      ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kSum).ok());
      results[static_cast<std::size_t>(c.rank())] = t;
    });
    for (const Tensor& t : results) {
      if (first.empty()) first.assign(t.values<float>().begin(), t.values<float>().end());
      ASSERT_EQ(std::memcmp(first.data(), t.raw(), t.bytes()), 0);
    }
  }
}

// 8 logical shards on 1, 2, 3, 4 and 8 ranks, dealt out evenly, unevenly and not at all: the same bits.
TEST(Inproc, ShardedReductionIsDeterministic) {
  constexpr int kShards = 8;
  constexpr std::int64_t kElements = 40003;
  const std::vector<std::vector<int>> spreads = {{8},       {4, 4},       {1, 7},
                                                 {3, 0, 5}, {2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1}};
  std::vector<float> first;
  for (const auto& spread : spreads) {
    InprocGroup group(static_cast<int>(spread.size()));
    spawn(group, [&](Communicator& c) {
      int begin = 0;
      for (int r = 0; r < c.rank(); ++r) begin += spread[static_cast<std::size_t>(r)];
      std::vector<Tensor> tensors;
      std::vector<Shard> shards;
      for (int s = begin; s < begin + spread[static_cast<std::size_t>(c.rank())]; ++s) {
        std::mt19937 random(static_cast<unsigned>(s));
        tensors.push_back(Tensor::zeros(DType::kFloat32, {kElements}));
        for (float& v : tensors.back().values<float>()) v = static_cast<float>(random()) / 1e9f - 2;
      }
      for (std::size_t s = 0; s < tensors.size(); ++s)
        shards.push_back({begin + static_cast<int>(s), {&tensors[s], 1}});
      // In place where the rank has a shard.
      const Tensor out = tensors.empty() ? Tensor::zeros(DType::kFloat32, {kElements}) : tensors[0];
      ASSERT_TRUE(c.all_reduce_shards(shards, kShards, {&out, 1}, Reduction::kMean).ok());
      if (c.rank() == 0 && first.empty()) first.assign(out.values<float>().begin(), out.values<float>().end());
      ASSERT_TRUE(c.barrier().ok());
      EXPECT_EQ(std::memcmp(first.data(), out.raw(), out.bytes()), 0) << spread.size() << " ranks";
    });
  }
}

TEST(Inproc, ScatterGatherBroadcastAllToAll) {
  for (const int ranks : {1, 2, 4}) {
    InprocGroup group(ranks);
    spawn(group, [ranks](Communicator& c) {
      // Parts of different sizes: rank r has 1000 r + 1 elements.
      const auto part_of = [](int r) { return std::int64_t{1000} * r + 1; };
      std::int64_t whole = 0, mine = 0;
      for (int r = 0; r < ranks; ++r) {
        if (r == c.rank()) mine = whole;
        whole += part_of(r);
      }
      const Tensor in = values_of(c.rank(), whole);
      const Tensor part = Tensor::zeros(DType::kFloat32, {part_of(c.rank())});
      ASSERT_TRUE(c.reduce_scatter(in, part, Reduction::kSum).ok());
      const Tensor all = Tensor::zeros(DType::kFloat32, {whole});
      ASSERT_TRUE(c.all_gather(part, all).ok());
      const Tensor in_place = in.rows(mine, mine + part_of(c.rank()));
      ASSERT_TRUE(c.reduce_scatter(in, in_place, Reduction::kSum).ok());
      ASSERT_TRUE(c.all_gather(in_place, in).ok());
      for (std::int64_t i = 0; i < whole; ++i) {
        float expected = 0;
        for (int r = 0; r < ranks; ++r) expected += static_cast<float>((i * 7 + r * 13) % 101);
        ASSERT_EQ(all.data<float>()[i], expected);
        ASSERT_EQ(in.data<float>()[i], expected);
      }

      const std::vector<Tensor> weights = {values_of(c.rank(), 12345), Tensor::scalar(c.rank() == ranks - 1)};
      ASSERT_TRUE(c.broadcast(weights, ranks - 1).ok());
      EXPECT_EQ(weights[0].data<float>()[12344], static_cast<float>((12344 * 7 + (ranks - 1) * 13) % 101));
      EXPECT_TRUE(weights[1].data<bool>()[0]);

      const Tensor from = Tensor::zeros(DType::kInt32, {ranks, 333});
      const Tensor to = Tensor::zeros(DType::kInt32, {ranks, 333});
      for (int i = 0; i < ranks * 333; ++i) from.data<std::int32_t>()[i] = c.rank() * 100000 + i;
      ASSERT_TRUE(c.all_to_all(from, to).ok());
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(to.data<std::int32_t>()[r * 333 + 5], r * 100000 + c.rank() * 333 + 5);
      }
    });
  }
}

TEST(Inproc, RandomSequenceOfEverything) {
  constexpr int kRanks = 4;
  InprocGroup group(kRanks);
  spawn(group, [](Communicator& c) {
    std::mt19937 random(1);  // the same on every rank
    for (int step = 0; step < 200; ++step) {
      const std::int64_t n = random() % (1u << (random() % 17));
      switch (random() % 4) {
        case 0: ASSERT_TRUE(c.barrier().ok()); break;
        case 1: {
          const Tensor t = Tensor::of<double>({1}, {static_cast<double>(c.rank() + step)});
          ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kProd).ok());
          EXPECT_EQ(t.data<double>()[0], static_cast<double>(step) * (step + 1) * (step + 2) * (step + 3));
          break;
        }
        case 2: {
          const Tensor t = values_of(c.rank(), n);
          ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kMin).ok());
          break;
        }
        default: {
          const int from = static_cast<int>(random() % kRanks);
          const int to = (from + 1) % kRanks;
          if (c.rank() == from) {
            ASSERT_TRUE(c.send(values_of(from, n, step), to).ok());
          }
          if (c.rank() == to) {
            const Tensor t = Tensor::zeros(DType::kFloat32, {n});
            ASSERT_TRUE(c.recv(t, from).ok());
            const Tensor expected = values_of(from, n, step);
            ASSERT_EQ(std::memcmp(t.raw(), expected.raw(), t.bytes()), 0);
          }
        }
      }
    }
  });
}

TEST(Inproc, RanksThatDisagreeAreToldApartAndGoOn) {
  InprocGroup group(3);
  spawn(group, [](Communicator& c) {
    const Tensor t = Tensor::zeros(DType::kFloat32, {c.rank() == 1 ? 785 : 784});
    const Status sizes = c.all_reduce({&t, 1}, Reduction::kSum, {.name = "w"});
    EXPECT_EQ(sizes.code(), Code::kInvalidArgument);
    EXPECT_EQ(sizes.message(),
              "ranks disagree on a collective: ranks 0, 2: all_reduce(sum) \"w\" of float[784]; "
              "rank 1: all_reduce(sum) \"w\" of float[785]");
    const Tensor u = Tensor::zeros(c.rank() == 2 ? DType::kInt32 : DType::kFloat32, {4});
    EXPECT_THAT(c.all_reduce({&u, 1}, Reduction::kSum).message(), HasSubstr("rank 2: all_reduce(sum) of int32[4]"));
    const Tensor v = Tensor::zeros(DType::kFloat32, {4});
    const Status kinds = c.rank() == 0 ? c.barrier() : c.broadcast({&v, 1}, 1);
    EXPECT_THAT(kinds.message(), HasSubstr("rank 0: barrier; ranks 1, 2: broadcast from rank 1"));
    EXPECT_THAT(c.all_reduce({&v, 1}, c.rank() == 0 ? Reduction::kMax : Reduction::kSum).message(), HasSubstr("max"));
    EXPECT_EQ(c.broadcast({&v, 1}, 3).code(), Code::kInvalidArgument);
    EXPECT_EQ(c.all_to_all(v, v).code(), Code::kInvalidArgument);
    const Tensor text = Tensor::vector<std::string>({"a"});
    EXPECT_EQ(c.all_reduce({&text, 1}, Reduction::kSum).code(), Code::kUnimplemented);
    EXPECT_TRUE(c.barrier().ok()) << "the group must be usable afterwards";
  });
}

TEST(Inproc, ShardsThatAreMissingOrHeldTwiceAreNamed) {
  InprocGroup group(2);
  spawn(group, [](Communicator& c) {
    const Tensor t = Tensor::zeros(DType::kFloat32, {4});
    const Shard same = {0, {&t, 1}};
    EXPECT_THAT(c.all_reduce_shards({&same, 1}, 2, {&t, 1}, Reduction::kSum).message(),
                HasSubstr("shard 0 is held by ranks 0 and 1"));
    const Shard own = {c.rank(), {&t, 1}};
    EXPECT_THAT(c.all_reduce_shards({&own, 1}, 3, {&t, 1}, Reduction::kSum).message(),
                HasSubstr("no rank holds shard 2"));
    EXPECT_THAT(c.all_reduce_shards({&own, 1}, 1, {&t, 1}, Reduction::kSum).message(),
                HasSubstr("rank 1 holds shard 1"));
    EXPECT_EQ(c.all_reduce_shards({}, 0, {&t, 1}, Reduction::kSum).code(), Code::kInvalidArgument);
  });
}

TEST(Inproc, AbortReachesEveryWaiterWithTheFirstCause) {
  for (int round = 0; round < 20; ++round) {
    InprocGroup group(4);
    spawn(group, [&](Communicator& c) {
      const Tensor t = values_of(c.rank(), 1000);
      for (int step = 0; step < 10; ++step) {
        if (step == 5 && c.rank() == 2) {
          if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          c.abort(data_loss("loss is NaN on rank 2"));
          c.abort(internal_error("too late"));
        }
        const Status status = c.all_reduce({&t, 1}, Reduction::kMin);
        if (status.ok()) continue;
        EXPECT_GE(step, 4);
        EXPECT_EQ(status.code(), Code::kDataLoss);
        EXPECT_EQ(status.message(), "loss is NaN on rank 2");
        return;
      }
      ADD_FAILURE() << "rank " << c.rank() << " never heard of it";
    });
    ASSERT_TRUE(group.reset().ok());
    spawn(group, [&](Communicator& c) { EXPECT_TRUE(c.barrier().ok()); });
  }
}

TEST(Inproc, ACancelledStepEndsTheWait) {
  InprocGroup group(3);
  Cancellation step;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    step.cancel(cancelled("the step was cancelled"));
  });
  spawn(group, [&](Communicator& c) {
    if (c.rank() == 1) return;  // never comes
    EXPECT_EQ(c.barrier({.cancellation = &step}).code(), Code::kCancelled);
    EXPECT_EQ(c.barrier({.cancellation = &step}).code(), Code::kCancelled);
  });
  later.join();
}

TEST(Inproc, TheDeadlineNamesWhoIsMissing) {
  InprocGroup group(4, {.timeout = std::chrono::milliseconds(50)});
  const std::int64_t start = now_nanos();
  spawn(group, [&](Communicator& c) {
    if (c.rank() == 1 || c.rank() == 3) return;
    const Status status = c.barrier({.name = "end of epoch"});
    EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
    EXPECT_EQ(status.id(), "ARG-COMM-002");
    EXPECT_THAT(status.message(), HasSubstr("after 0.05 s ranks 1, 3 of 4 had not come"));
  });
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_EQ(group.rank(1).barrier().code(), Code::kDeadlineExceeded) << "who comes late learns the cause";
  Communicator& lonely = group.rank(0);
  ASSERT_TRUE(group.reset().ok());
  const Tensor t = Tensor::scalar(1.0f);
  EXPECT_THAT(lonely.recv(t, 2).message(), HasSubstr("rank 2 of 4 had not come"));
}

// Cancelled at random moments: every rank gets the same answer for every collective, and nothing hangs.
TEST(Inproc, ACollectiveCompletesOnAllRanksOrOnNone) {
  constexpr int kRanks = 3;
  std::mt19937 random(3);
  InprocGroup group(kRanks);
  for (int round = 0; round < 100; ++round) {
    Cancellation step;
    std::atomic<int> completed[kRanks] = {};
    const auto delay = std::chrono::microseconds(random() % 400);
    std::thread later([&] {
      std::this_thread::sleep_for(delay);
      step.cancel(cancelled("enough"));
    });
    spawn(group, [&](Communicator& c) {
      const Tensor t = values_of(c.rank(), 3000);
      while (c.all_reduce({&t, 1}, Reduction::kMax, {.cancellation = &step}).ok()) ++completed[c.rank()];
    });
    later.join();
    ASSERT_EQ(completed[0], completed[1]);
    ASSERT_EQ(completed[0], completed[2]);
    ASSERT_TRUE(group.reset().ok());
  }
}

// Far more ranks than cores, one of them late: who waits must leave the cores alone.
TEST(Inproc, WaitingBurnsNoCores) {
  constexpr int kRanks = 16;
  InprocGroup group(kRanks);
  const std::clock_t before = std::clock();  // of all threads
  spawn(group, [](Communicator& c) {
    for (int step = 0; step < 3; ++step) {
      if (c.rank() == step) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      const Tensor t = Tensor::scalar(1.0f);
      ASSERT_TRUE(c.all_reduce({&t, 1}, Reduction::kSum).ok());
      EXPECT_EQ(t.data<float>()[0], 16.0f);
    }
  });
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.15) << "of 0.45 s on every core";
}

TEST(Inproc, SendAndReceiveNameWhatDoesNotFit) {
  InprocGroup group(2);
  spawn(group, [](Communicator& c) {
    const Tensor t = Tensor::zeros(DType::kFloat32, {c.rank() == 0 ? 3 : 4});
    const Status status = c.rank() == 0 ? c.send(t, 1, {.name = "x"}) : c.recv(t, 0, {.name = "x"});
    EXPECT_EQ(status.message(), "rank 0 sends \"x\" float[3], rank 1 receives \"x\" float[4]");
    EXPECT_EQ(c.send(t, c.rank()).code(), Code::kInvalidArgument);
    EXPECT_EQ(c.recv(t, 9).code(), Code::kInvalidArgument);
  });
}

TEST(Inproc, OneThreadAtATime) {
  InprocGroup group(2);
  std::thread waiting([&] { EXPECT_EQ(group.rank(0).barrier().code(), Code::kAborted); });
  while (group.reset().ok()) std::this_thread::yield();
  EXPECT_EQ(group.rank(0).barrier().code(), Code::kFailedPrecondition);
  group.abort(aborted("done"));
  waiting.join();
}

TEST(Inproc, LinksSetThePace) {
  InprocGroup group(2, {.link_bytes_per_second = 1e8});
  const std::int64_t start = now_nanos();
  spawn(group, [](Communicator& c) {
    const Tensor t = Tensor::zeros(DType::kFloat32, {500000});
    EXPECT_TRUE(c.all_reduce({&t, 1}, Reduction::kSum).ok());
  });
  EXPECT_GT(seconds_since(start), 0.0195);  // 2 MB once over the link
}

}  // namespace
}  // namespace argosy
