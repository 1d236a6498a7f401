// Sums that GPUs of several tasks make among themselves: one order on all tasks, and the way back where one cannot.
#include "argosy/comm/net/direct_sums.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <future>
#include <random>

#include "argosy/base/guard.h"
#include "argosy/comm/net/net_test_support.h"
#include "argosy/comm/net/spanning_group.h"
#include "argosy/device/event.h"

namespace argosy {
namespace {

// The GPUs of all tasks, with a library like NCCL: the n-th sum of a task is that of the n-th sum of the others,
// whatever they mean by it.
class Gpus {
 public:
  Gpus(int tasks, int ranks) : ranks_(static_cast<std::size_t>(ranks)), order_(static_cast<std::size_t>(tasks)) {}

  std::vector<Event> start(int task, std::span<const CollectiveCall> calls) {
    MutexLock lock(mutex_);
    std::vector<std::string>& mine = order_[static_cast<std::size_t>(task)];
    const std::size_t number = mine.size();
    mine.emplace_back(calls[0].name);
    if (rounds_.size() <= number) rounds_.resize(number + 1);
    Round& round = rounds_[number];
    std::vector<Event> ends;
    for (const CollectiveCall& call : calls) {
      round.calls.push_back(call);
      round.ends.push_back(std::make_shared<Event::State>());
      ends.emplace_back(round.ends.back());
    }
    if (round.calls.size() == ranks_) work(round);
    return ends;
  }
  void abort() {
    MutexLock lock(mutex_);
    for (Round& round : rounds_) {
      for (const auto& end : round.ends) end->reach();
      round.ends.clear();
    }
  }
  std::vector<std::vector<std::string>> order() {
    MutexLock lock(mutex_);
    return order_;
  }

 private:
  struct Round {
    std::vector<CollectiveCall> calls;
    std::vector<std::shared_ptr<Event::State>> ends;
  };
  void work(Round& round) ARGOSY_REQUIRES(mutex_) {
    std::ranges::sort(round.calls, {}, &CollectiveCall::rank);
    const std::int64_t n = round.calls[0].out[0].elements();
    std::vector<float> sum(static_cast<std::size_t>(n), 0);
    for (const CollectiveCall& call : round.calls) {
      for (std::int64_t i = 0; i < n; ++i) {
        sum[static_cast<std::size_t>(i)] += call.shards[0].tensors[0].data<float>()[i];
      }
    }
    for (const CollectiveCall& call : round.calls) std::ranges::copy(sum, call.out[0].data<float>());
    for (const auto& end : round.ends) end->reach();
    round.ends.clear();
  }

  const std::size_t ranks_;
  Mutex mutex_;
  std::deque<Round> rounds_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::vector<std::string>> order_ ARGOSY_GUARDED_BY(mutex_);  // by task: what it started
};

// One task's part of them.
class Part final : public SpanningBackend {
 public:
  Part(Gpus& gpus, int task, Status connects) : gpus_(gpus), task_(task), connects_(std::move(connects)) {}
  std::string offer() override { return "GPUs"; }
  Status connect(std::span<const std::string> offers) override {
    for (const std::string& offer : offers) EXPECT_EQ(offer, "GPUs");
    return copy_of(connects_);
  }
  bool is_of(std::span<const CollectiveCall>) const override { return true; }
  bool takes(std::span<const CollectiveCall> calls) const override { return calls[0].reduction == Reduction::kSum; }
  Result<std::vector<Event>> start(std::span<const CollectiveCall> calls, const std::shared_ptr<StepAbort>&) override {
    return gpus_.start(task_, calls);
  }
  void abort(const Status&) override { gpus_.abort(); }
  std::string describe() const override { return "a test"; }

 private:
  Gpus& gpus_;
  const int task_;
  const Status connects_;
};

// The memory of a task's GPUs is the host's: a copy there is the call itself.
class Memory final : public GroupBackend {
 public:
  Memory(Gpus& gpus, int task, Status connects = {}) : gpus_(gpus), task_(task), connects_(std::move(connects)) {}
  Result<std::unique_ptr<StagedCall>> copy_to_host(const CollectiveCall& call) override {
    struct Same final : StagedCall {
      explicit Same(const CollectiveCall& c) : mine(c) {}
      const CollectiveCall& call() const override { return mine; }
      Status bring_back() const override { return ok_status(); }
      const CollectiveCall mine;
    };
    return std::unique_ptr<StagedCall>(std::make_unique<Same>(call));
  }
  std::unique_ptr<SpanningBackend> over_tasks(std::span<const CollectiveCall>, const SpanningRanks&) override {
    return std::make_unique<Part>(gpus_, task_, copy_of(connects_));
  }
  Result<std::vector<Event>> start(std::span<const CollectiveCall>, const std::shared_ptr<StepAbort>&) override {
    return internal_error("not over tasks");
  }

 private:
  Gpus& gpus_;
  const int task_;
  const Status connects_;
};

constexpr int kTasks = 3, kHere = 2, kRanks = kTasks * kHere, kGroups = 24, kNumbers = 50;

float input(int group, int rank, int i) { return static_cast<float>(group * 3 + rank * 7 + i % 11); }

// The sum of one group on one task: its ranks' values, and their calls.
struct Sum {
  Sum(NetGroup& net, int group, Reduction reduction = Reduction::kSum, bool any_order = true,
      Cancellation* cancellation = nullptr)
      : number(group),
        name(str_cat("bucket ", group)),
        first(net.rank() * kHere),
        spanning(std::shared_ptr<NetGroup>(&net, [](NetGroup*) {}), {.size = kRanks,
                                                                     .first = first,
                                                                     .here = kHere,
                                                                     .tag = static_cast<std::uint32_t>(100 + group),
                                                                     .cancellation = cancellation}) {
    for (int r = 0; r < kHere; ++r) {
      in.push_back(Tensor::zeros(DType::kFloat32, {kNumbers}));
      out.push_back(Tensor::zeros(DType::kFloat32, {kNumbers}));
      for (int i = 0; i < kNumbers; ++i) in.back().data<float>()[i] = input(group, first + r, i);
    }
    for (int r = 0; r < kHere; ++r) {
      const auto at = static_cast<std::size_t>(r);
      shards.push_back({.index = first + r, .tensors = std::span(&in[at], 1)});
      calls.push_back({.kind = Collective::kAllReduceShards,
                       .reduction = reduction,
                       .total = kRanks,
                       .name = name,
                       .out = std::span(&out[at], 1),
                       .same_shapes = true,
                       .any_order = any_order});
    }
    for (int r = 0; r < kHere; ++r)
      calls[static_cast<std::size_t>(r)].shards = std::span(&shards[static_cast<std::size_t>(r)], 1);
  }
  void start(GroupBackend* backend) {
    for (int r = 0; r < kHere; ++r) {
      const auto at = static_cast<std::size_t>(r);
      spanning.start(
          first + r, calls[at], [this, at](Result<Event> end) { ended[at].set_value(std::move(end)); }, backend);
    }
  }
  Status wait() {
    Status all;
    for (auto& end : ended) {
      const Result<Event> event = end.get_future().get();
      if (event.ok() && event->state() != nullptr) event->state()->wait();
      if (!event.ok()) all = event.status();
    }
    return all;
  }
  void expect_right() {
    for (const Tensor& result : out) {
      for (int i = 0; i < kNumbers; ++i) {
        float expected = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          const float x = input(number, rank, i);
          expected = calls[0].reduction == Reduction::kMax ? std::max(expected, x) : expected + x;
        }
        ASSERT_EQ(result.data<float>()[i], expected) << name << " " << i;
      }
    }
  }

  const int number;
  const std::string name;
  const int first;
  std::vector<Tensor> in, out;
  std::vector<Shard> shards;
  std::vector<CollectiveCall> calls;
  std::promise<Result<Event>> ended[kHere];
  SpanningGroup spanning;
};

// Each task starts the sums in an order of its own, in three rounds.
void sum_all(const std::function<GroupBackend*(int task)>& backend_of) {
  spawn_tasks(kTasks, [&](NetGroup& net) {
    std::mt19937 random(static_cast<unsigned>(net.rank()));
    for (int round = 0; round < 3; ++round) {
      std::deque<Sum> sums;
      std::vector<int> order;
      for (int g = 0; g < kGroups; ++g) {
        sums.emplace_back(net, g, g % 8 == 5 ? Reduction::kMax : Reduction::kSum, g % 8 != 7);
        order.push_back(g);
      }
      std::ranges::shuffle(order, random);
      for (const int g : order) sums[static_cast<std::size_t>(g)].start(backend_of(net.rank()));
      for (Sum& sum : sums) {
        const Status status = sum.wait();
        ASSERT_TRUE(status.ok()) << status.to_string();
        sum.expect_right();
      }
      ASSERT_TRUE(net.barrier({.name = "round"}).ok());
    }
  });
}

std::deque<Memory> memories(Gpus& gpus, const std::function<Status(int)>& connects = nullptr) {
  std::deque<Memory> all;
  for (int task = 0; task < kTasks; ++task) {
    all.emplace_back(gpus, task, connects == nullptr ? Status() : connects(task));
  }
  return all;
}

TEST(DirectSums, HaveOneOrderOnAllTasks) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  Gpus gpus(kTasks, kRanks);
  auto memory = memories(gpus);
  sum_all([&](int task) { return &memory[static_cast<std::size_t>(task)]; });
  const auto order = gpus.order();
  EXPECT_EQ(order[0].size(), 3u * 21u) << "of each eight, seven are sums, ordered or in any order";
  for (const auto& other : order) EXPECT_EQ(other, order[0]);
}

TEST(DirectSums, GoByTheHostsWhereATaskHasNoGpus) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  for (int without = 0; without < kTasks; ++without) {
    Gpus gpus(kTasks, kRanks);
    auto memory = memories(gpus);
    sum_all([&](int task) { return task == without ? nullptr : &memory[static_cast<std::size_t>(task)]; });
    for (const auto& started : gpus.order()) EXPECT_TRUE(started.empty());
  }
}

TEST(DirectSums, GoByTheHostsWhereATaskCannotConnect) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  for (int failing = 0; failing < kTasks; ++failing) {
    Gpus gpus(kTasks, kRanks);
    auto memory = memories(
        gpus, [&](int task) { return task == failing ? unavailable("no link").with_id("ARG-COMM-006") : Status(); });
    sum_all([&](int task) { return &memory[static_cast<std::size_t>(task)]; });
    for (const auto& started : gpus.order()) EXPECT_TRUE(started.empty());
  }
}

// A task that does not come: the step's end ends the others' waits, on GPUs and for their turn.
TEST(DirectSums, EndWithTheStepThatWaits) {
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build";
  for (int lost = 0; lost < kTasks; ++lost) {
    Gpus gpus(kTasks, kRanks);
    auto memory = memories(gpus);
    spawn_tasks(kTasks, [&](NetGroup& net) {
      GroupBackend* const backend = &memory[static_cast<std::size_t>(net.rank())];
      Sum first(net, 0);
      first.start(backend);
      EXPECT_TRUE(first.wait().ok());
      Cancellation step;
      {
        std::deque<Sum> sums;
        for (int g = 1; g < 5; ++g) sums.emplace_back(net, g, Reduction::kSum, true, &step);
        if (net.rank() != lost) {
          for (Sum& sum : sums) sum.start(backend);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        step.cancel(cancelled("the user has had enough"));
        if (net.rank() != lost) {
          for (Sum& sum : sums) (void)sum.wait();
        }
      }
      EXPECT_FALSE(net.cause().ok());
    });
  }
}

}  // namespace
}  // namespace argosy
