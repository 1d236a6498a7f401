// Collectives among fake GPUs: they give the bits of argosy/comm/shared_memory, for any GPUs and any links between
// them.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <thread>

#include "argosy/base/threads/parallel.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/comm/native_gpu/collective_choice.h"
#include "argosy/comm/native_gpu/gpu_group.h"
#include "argosy/device/cuda/device_core.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy::cuda {
namespace {

using ::testing::HasSubstr;

struct Kind {
  std::string name;
  int ranks = 2;
  bool one_gpu = false;  // all ranks on one physical GPU
  bool reach = true, lie = false;
  std::string backend = "direct";
};

fake::Options options_of(const Kind& kind) {
  fake::Options options = fake::gpus_with_kernels(kind.one_gpu ? 1 : kind.ranks);
  options.peers_reach = kind.reach;
  options.peers_lie = kind.lie;
  return options;
}

class Ranks {
 public:
  explicit Ranks(const Kind& kind, std::chrono::nanoseconds timeout = std::chrono::seconds(30))
      : machine(options_of(kind), fake::with_kernels()), group(kind.ranks, {.timeout = timeout}) {
    for (int r = 0; r < kind.ranks; ++r) {
      devices.push_back(machine.device(kind.one_gpu ? 0 : r));
      pointers.push_back(devices.back().get());
    }
    collectives = native_collectives(pointers);
  }

  std::unique_ptr<Communicator> rank(int r) const {
    return group.on_device(r, pointers[static_cast<std::size_t>(r)], collectives.get());
  }

  fake::Machine machine;
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::vector<CudaDevice*> pointers;
  std::shared_ptr<GpuCollectives> collectives;
  InprocGroup group;
};

using Body = std::function<Status(Communicator&, const std::vector<Tensor>&)>;

// What every rank's tensors hold afterwards, in host memory ...
std::vector<std::vector<Tensor>> on_host(const std::vector<std::vector<Tensor>>& tensors, const Body& body) {
  InprocGroup group(static_cast<int>(tensors.size()));
  std::vector<std::vector<Tensor>> copies(tensors.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < tensors.size(); ++r) {
    threads.emplace_back([&, r] {
      set_thread_budget(1);
      for (const Tensor& t : tensors[r]) copies[r].push_back(t.clone());
      const Status status = body(group.rank(static_cast<int>(r)), copies[r]);
      EXPECT_TRUE(status.ok()) << status.to_string();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return copies;
}

// ... and on GPUs.
std::vector<std::vector<Tensor>> on_gpus(Ranks& ranks, const std::vector<std::vector<Tensor>>& tensors,
                                         const Body& body) {
  std::vector<std::vector<Tensor>> results(tensors.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < tensors.size(); ++r) {
    threads.emplace_back([&, r] {
      CudaDevice& device = *ranks.pointers[r];
      std::vector<Tensor> there;
      for (const Tensor& t : tensors[r]) {
        there.push_back(Tensor::allocate(t.dtype(), t.shape(), device.allocator()).value());
        ASSERT_TRUE(device.upload(there.back().raw(), t.raw(), t.bytes()).ok());
      }
      const Status status = body(*ranks.rank(static_cast<int>(r)), there);
      EXPECT_TRUE(status.ok()) << status.to_string();
      for (const Tensor& t : there) {
        results[r].push_back(Tensor::allocate(t.dtype(), t.shape(), host_allocator()).value());
        ASSERT_TRUE(device.download(results[r].back().raw(), t.raw(), t.bytes()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void expect_same(Ranks& ranks, const std::vector<std::vector<Tensor>>& tensors, const Body& body,
                 const std::string& what) {
  const auto expected = on_host(tensors, body);
  const auto got = on_gpus(ranks, tensors, body);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    ASSERT_EQ(expected[r].size(), got[r].size());
    for (std::size_t i = 0; i < expected[r].size(); ++i) {
      EXPECT_EQ(std::memcmp(expected[r][i].raw(), got[r][i].raw(), expected[r][i].bytes()), 0)
          << what << ": tensor " << i << " of rank " << r;
    }
  }
}

std::vector<std::vector<Tensor>> values_of(int ranks, DType dtype, const std::vector<std::int64_t>& sizes) {
  std::vector<std::vector<Tensor>> tensors(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto seed = static_cast<std::uint64_t>(r * 100) + i + 1;
      const bool whole =
          dtype != DType::kFloat32 && dtype != DType::kFloat64 && dtype != DType::kFloat16 && dtype != DType::kBfloat16;
      tensors[static_cast<std::size_t>(r)].push_back(
          cast_to(random_tensor(DType::kFloat32, {sizes[i]}, seed, whole ? 0 : -1, whole ? 5 : 1), dtype));
    }
  }
  return tensors;
}

class Collectives : public ::testing::TestWithParam<Kind> {};

TEST_P(Collectives, AllReduceInEveryDtypeAndReduction) {
  Ranks ranks(GetParam());
  using enum DType;
  using enum Reduction;
  // What differs between the ways is who copies, not what is computed.
  const bool all = GetParam().backend == "direct";
  for (const DType dtype : all ? std::vector{kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt16, kInt32, kInt64,
                                             kUint8, kUint16, kUint32, kUint64}
                               : std::vector{kFloat32, kBfloat16, kInt64}) {
    for (const Reduction reduction : all ? std::vector{kSum, kMean, kMin, kMax, kProd} : std::vector{kSum, kMean}) {
      expect_same(
          ranks, values_of(GetParam().ranks, dtype, {1, 700, 0, 5000}),
          [&](Communicator& c, const std::vector<Tensor>& t) { return c.all_reduce(t, reduction); },
          str_cat(dtype_name(dtype), " ", reduction_name(reduction)));
    }
  }
  EXPECT_THAT(ranks.collectives->describe(), HasSubstr(GetParam().backend));
}

TEST_P(Collectives, ShardsAreSummedInOneTreeHoweverTheyAreSpread) {
  Ranks ranks(GetParam());
  const int n = GetParam().ranks;
  for (const int total : {n, 8, 11}) {
    // Rank r holds shards r, r + n, ...; its last tensor is where the sum goes.
    std::vector<std::vector<Tensor>> tensors(static_cast<std::size_t>(n));
    for (int s = 0; s < total; ++s) {
      tensors[static_cast<std::size_t>(s % n)].push_back(
          random_tensor(DType::kFloat32, {3001}, static_cast<std::uint64_t>(s + 1)));
    }
    for (auto& list : tensors) list.push_back(Tensor::zeros(DType::kFloat32, {3001}));
    expect_same(
        ranks, tensors,
        [&](Communicator& c, const std::vector<Tensor>& t) {
          std::vector<Shard> shards;
          for (int s = c.rank(), i = 0; s < total; s += n, ++i) {
            shards.push_back({s, std::span(t).subspan(static_cast<std::size_t>(i), 1)});
          }
          return c.all_reduce_shards(shards, total, std::span(t).last(1), Reduction::kSum);
        },
        str_cat(total, " shards"));
  }
}

// Each rank keeps its part of the sum; the parts, of any size, come together again, in place.
TEST_P(Collectives, ShardsAreSummedIntoPartsAndGathered) {
  Ranks ranks(GetParam());
  const int n = GetParam().ranks;
  const auto end_of = [n](std::int64_t whole, int rank) { return whole * rank * (rank - 1) / (n * (n - 1)); };
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kInt64}) {
    for (const int total : {n, 8, 11}) {
      // Rank r holds shards r, r + n, ...; its last tensors are those where the sums go.
      std::vector<std::vector<Tensor>> tensors(static_cast<std::size_t>(n));
      for (int s = 0; s < total; ++s) {
        for (const std::int64_t size : {3001, 17}) {
          tensors[static_cast<std::size_t>(s % n)].push_back(
              cast_to(random_tensor(DType::kFloat32, {size}, static_cast<std::uint64_t>(s + 1), -5, 5), dtype));
        }
      }
      for (auto& list : tensors) {
        for (const std::int64_t size : {3001, 17}) list.push_back(Tensor::zeros(dtype, {size}));
      }
      expect_same(
          ranks, tensors,
          [&](Communicator& c, const std::vector<Tensor>& t) {
            std::vector<Shard> shards;
            for (int s = c.rank(), i = 0; s < total; s += n, ++i) {
              shards.push_back({s, std::span(t).subspan(2 * static_cast<std::size_t>(i), 2)});
            }
            const auto wholes = std::span(t).last(2);
            std::vector<Tensor> parts;
            for (const Tensor& whole : wholes) {
              parts.push_back(whole.rows(end_of(whole.elements(), c.rank()), end_of(whole.elements(), c.rank() + 1)));
            }
            ARGOSY_RETURN_IF_ERROR(c.reduce_scatter_shards(shards, total, parts, Reduction::kSum));
            return c.all_gather(parts, wholes);
          },
          str_cat(dtype_name(dtype), ", ", total, " shards"));
    }
  }
}

TEST_P(Collectives, PartsOfAnySizeAreExchanged) {
  Ranks ranks(GetParam());
  const int n = GetParam().ranks;
  std::vector<std::vector<Tensor>> tensors(static_cast<std::size_t>(n));
  for (int r = 0; r < n; ++r) {
    for (int peer = 0; peer < n; ++peer) {
      tensors[static_cast<std::size_t>(r)].push_back(
          random_tensor(DType::kFloat32, {400 * ((r * peer) % 3)}, static_cast<std::uint64_t>(r * n + peer + 1)));
    }
    for (int peer = 0; peer < n; ++peer) {
      tensors[static_cast<std::size_t>(r)].push_back(Tensor::zeros(DType::kFloat32, {400 * ((r * peer) % 3)}));
    }
  }
  expect_same(
      ranks, tensors,
      [n](Communicator& c, const std::vector<Tensor>& t) {
        return c.all_to_all_parts(std::span(t).first(static_cast<std::size_t>(n)),
                                  std::span(t).last(static_cast<std::size_t>(n)));
      },
      "parts");
}

TEST_P(Collectives, GatherScatterBroadcastAndAllToAll) {
  Ranks ranks(GetParam());
  const int n = GetParam().ranks;
  std::vector<std::vector<Tensor>> uneven(static_cast<std::size_t>(n));
  std::int64_t whole = 0;
  for (int r = 0; r < n; ++r) whole += 100 + 1000 * r;
  for (int r = 0; r < n; ++r) {
    const auto seed = static_cast<std::uint64_t>(r + 1);
    uneven[static_cast<std::size_t>(r)] = {random_tensor(DType::kFloat32, {100 + 1000 * r}, seed),
                                           random_tensor(DType::kFloat32, {whole}, seed + 50)};
  }
  expect_same(
      ranks, uneven, [](Communicator& c, const std::vector<Tensor>& t) { return c.all_gather(t[0], t[1]); }, "gather");
  expect_same(
      ranks, uneven,
      [](Communicator& c, const std::vector<Tensor>& t) { return c.reduce_scatter(t[1], t[0], Reduction::kSum); },
      "scatter");
  const auto equal = values_of(n, DType::kInt64, {12 * n, 12 * n});
  for (int root = 0; root < n; ++root) {
    expect_same(
        ranks, equal, [root](Communicator& c, const std::vector<Tensor>& t) { return c.broadcast(t, root); },
        "broadcast");
  }
  expect_same(
      ranks, equal, [](Communicator& c, const std::vector<Tensor>& t) { return c.all_to_all(t[0], t[1]); },
      "all to all");
  expect_same(
      ranks, equal,
      [n](Communicator& c, const std::vector<Tensor>& t) -> Status {
        ARGOSY_RETURN_IF_ERROR(c.barrier());
        if (c.rank() == 0) return c.send(t[0], n - 1, {.name = "m"});
        return c.rank() == n - 1 ? c.recv(t[1], 0, {.name = "m"}) : ok_status();
      },
      "send");
}

// Many times the pieces that are under way at once, again and again.
TEST_P(Collectives, LongArraysPassInPieces) {
  Ranks ranks(GetParam());
  expect_same(
      ranks, values_of(GetParam().ranks, DType::kFloat32, {2'000'001, 7}),
      [](Communicator& c, const std::vector<Tensor>& t) {
        for (int i = 0; i < 2; ++i) ARGOSY_RETURN_IF_ERROR(c.all_reduce(t, Reduction::kMean));
        return ok_status();
      },
      "long");
}

INSTANTIATE_TEST_SUITE_P(Gpus, Collectives,
                         ::testing::Values(Kind{"two", 2}, Kind{"three", 3},
                                           Kind{.name = "virtual", .ranks = 4, .one_gpu = true},
                                           Kind{.name = "apart", .ranks = 3, .reach = false, .backend = "by the host"},
                                           Kind{.name = "lying", .ranks = 2, .lie = true, .backend = "by the host"}),
                         [](const auto& param) { return param.param.name; });

TEST(GpuRanks, RanksThatDisagreeAreAllToldSo) {
  Ranks ranks({"two"});
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const Tensor t = Tensor::allocate(DType::kFloat32, {3 + r}, ranks.pointers[r]->allocator()).value();
      const Status status = ranks.rank(r)->all_reduce({&t, 1}, Reduction::kSum, {.name = "b"});
      EXPECT_EQ(status.id(), "ARG-COMM-001") << status.to_string();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(GpuRanks, ARankThatDoesNotComeIsNotWaitedForForEver) {
  Ranks ranks({"two"}, std::chrono::milliseconds(50));
  const Tensor t = Tensor::allocate(DType::kFloat32, {3}, ranks.pointers[0]->allocator()).value();
  const Status late = ranks.rank(0)->all_reduce({&t, 1}, Reduction::kSum, {.name = "bucket 3"});
  EXPECT_EQ(late.id(), "ARG-COMM-002") << late.to_string();
  EXPECT_THAT(late.message(), HasSubstr("bucket 3"));
  EXPECT_EQ(ranks.rank(1)->barrier().id(), "ARG-COMM-002");
}

TEST(GpuRanks, ALostGpuIsAnErrorOnEveryRank) {
  Ranks ranks({"two"});
  ranks.machine.driver().fail_launch(1);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const Tensor t = Tensor::zeros(DType::kFloat32, {3});
      Tensor there = Tensor::allocate(DType::kFloat32, {3}, ranks.pointers[r]->allocator()).value();
      ASSERT_TRUE(ranks.pointers[r]->upload(there.raw(), t.raw(), t.bytes()).ok());
      (void)ranks.rank(r)->all_reduce({&there, 1}, Reduction::kSum, {.timeout = std::chrono::seconds(5)});
      there = Tensor();
    });
  }
  for (std::thread& thread : threads) thread.join();
  int failed = 0;
  for (CudaDevice* const device : ranks.pointers) failed += device->launch_queue()->finish(nullptr).ok() ? 0 : 1;
  EXPECT_GE(failed, 1);
}

// A GPU and the host's memory in one group: everything passes through the host.
TEST(GpuRanks, ARankMayBeInTheHostsMemory) {
  const std::vector<std::vector<Tensor>> tensors = {
      {random_tensor(DType::kFloat32, {700}, 1), random_tensor(DType::kFloat32, {1000}, 2)},
      {random_tensor(DType::kFloat32, {300}, 3), random_tensor(DType::kFloat32, {1000}, 4)}};
  const std::vector<std::pair<std::string, Body>> bodies = {
      {"all_reduce",
       [](Communicator& c, const auto& t) {
         return c.all_reduce({&t[1], 1}, Reduction::kMean);
       }},
      {"shards",
       [](Communicator& c, const auto& t) {
         const Shard mine{c.rank(), {&t[1], 1}};
         return c.all_reduce_shards({&mine, 1}, 2, {&t[1], 1}, Reduction::kSum);
       }},
      {"part of shards",
       [](Communicator& c, const auto& t) {
         const Shard mine{c.rank(), {&t[1], 1}};
         return c.reduce_scatter_shards({&mine, 1}, 2, {&t[0], 1}, Reduction::kSum);
       }},
      {"gather", [](Communicator& c, const auto& t) { return c.all_gather(t[0], t[1]); }},
      {"scatter", [](Communicator& c, const auto& t) { return c.reduce_scatter(t[1], t[0], Reduction::kSum); }},
      {"broadcast",
       [](Communicator& c, const auto& t) {
         return c.broadcast({&t[1], 1}, 1);
       }},
      {"to the GPU", [](Communicator& c, const auto& t) { return c.rank() == 1 ? c.send(t[1], 0) : c.recv(t[1], 1); }},
      {"to the host",
       [](Communicator& c, const auto& t) { return c.rank() == 0 ? c.send(t[1], 1) : c.recv(t[1], 0); }}};
  Ranks ranks({"two"});
  CudaDevice& device = *ranks.pointers[0];
  for (const auto& [what, body] : bodies) {
    const auto expected = on_host(tensors, body);
    std::vector<Tensor> there, here = {tensors[1][0].clone(), tensors[1][1].clone()};
    for (const Tensor& t : tensors[0]) {
      there.push_back(Tensor::allocate(t.dtype(), t.shape(), device.allocator()).value());
      ASSERT_TRUE(device.upload(there.back().raw(), t.raw(), t.bytes()).ok());
    }
    std::thread host([&] {
      const Status status = body(ranks.group.rank(1), here);
      EXPECT_TRUE(status.ok()) << what << ": " << status.to_string();
    });
    const Status status = body(*ranks.group.on_device(0, &device, &gpu_group_backend()), there);
    host.join();
    EXPECT_TRUE(status.ok()) << what << ": " << status.to_string();
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor got = Tensor::allocate(DType::kFloat32, there[i].shape(), host_allocator()).value();
      ASSERT_TRUE(device.download(got.raw(), there[i].raw(), got.bytes()).ok());
      EXPECT_EQ(std::memcmp(expected[0][i].raw(), got.raw(), got.bytes()), 0) << what << ": tensor " << i;
      EXPECT_EQ(std::memcmp(expected[1][i].raw(), here[i].raw(), here[i].bytes()), 0) << what << ": tensor " << i;
    }
  }
}

TEST(ChooseCollectives, SaysWhoAndWhy) {
  const auto backend = [](const CollectiveRequest& s) { return choose_collectives(s).backend; };
  EXPECT_EQ(backend({.ranks = 4, .physical_gpus = 4}), CollectiveBackend::kNccl);
  EXPECT_EQ(backend({.ranks = 4, .physical_gpus = 1}), CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 1, .physical_gpus = 1}), CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 2, .deterministic = true}), CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 2, .ordered = true}), CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 2, .ordered = true, .setting = "nccl"}), CollectiveBackend::kNccl);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 2, .deterministic = true, .setting = "nccl"}),
            CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 2, .setting = "own"}), CollectiveBackend::kNative);
  EXPECT_EQ(backend({.ranks = 2, .physical_gpus = 1, .only_gpus = false}), CollectiveBackend::kHostStaged);
  const CollectiveChoice without =
      choose_collectives({.ranks = 2, .physical_gpus = 2, .nccl = unavailable("it is not here")});
  EXPECT_EQ(without.backend, CollectiveBackend::kNative);
  EXPECT_EQ(without.reason, "it is not here");
}

}  // namespace
}  // namespace argosy::cuda
