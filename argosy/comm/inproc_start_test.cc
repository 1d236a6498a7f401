// Communicator::start(): ranks that nobody's thread waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "argosy/base/threads/timers.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/device/device.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

// One rank's sum, started, and how it ended.
struct Started {
  explicit Started(float value, std::int64_t n = 3) : tensor(Tensor::zeros(DType::kFloat32, {n})) {
    for (float& v : tensor.values<float>()) v = value;
  }
  void start(Communicator& c, std::chrono::nanoseconds timeout = {}) {
    c.start({.kind = Collective::kAllReduce,
             .name = "bucket 3",
             .tensors = {&tensor, 1},
             .member = "sum",
             .timeout = timeout},
            [this](Result<Event> end) {
              status = end.status();
              ++times;
            });
  }
  float first() const { return tensor.data<float>()[0]; }

  Tensor tensor;
  Status status;
  std::atomic<int> times{0};
};

TEST(InprocStart, TheLastRankCompletesItForAll) {
  InprocGroup group(3);
  Started a(1), b(2), c(4);
  a.start(group.rank(0));
  c.start(group.rank(2));
  EXPECT_EQ(a.times + c.times, 0);
  b.start(group.rank(1));
  for (const Started* const s : {&a, &b, &c}) {
    EXPECT_EQ(s->times, 1);
    EXPECT_TRUE(s->status.ok());
    EXPECT_EQ(s->first(), 7);
  }
}

TEST(InprocStart, ARankMayBeSeveralCollectivesAhead) {
  InprocGroup group(2);
  Started first(1), second(2), third(3);
  first.start(group.rank(0));
  second.start(group.rank(0));
  third.start(group.rank(0));
  for (Started* const s : {&first, &second, &third}) {
    EXPECT_EQ(s->times, 0);
    Started other(10);
    other.start(group.rank(1));
    EXPECT_EQ(s->times, 1);
    EXPECT_EQ(other.first(), s->first());
  }
  EXPECT_EQ(first.first(), 11);
  EXPECT_EQ(third.first(), 13);
}

TEST(InprocStart, MeetsABlockingCall) {
  for (const std::int64_t n : {3, 300'000}) {
    for (const bool blocks_first : {true, false}) {
      InprocGroup group(2, {.timeout = std::chrono::minutes(10)});  // whoever sleeps must be woken
      Started started(1, n);
      const Started blocked(2, n);
      if (!blocks_first) started.start(group.rank(0));
      std::thread thread([&] {
        EXPECT_TRUE(group.rank(1).all_reduce({&blocked.tensor, 1}, Reduction::kSum, {.name = "bucket 3"}).ok());
      });
      if (blocks_first) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        started.start(group.rank(0));
      }
      thread.join();
      while (started.times == 0) std::this_thread::yield();
      EXPECT_TRUE(started.status.ok());
      EXPECT_EQ(started.first(), 3);
      EXPECT_EQ(blocked.first(), 3);
    }
  }
}

// Large sums are shared among the devices' communication streams; with links, each takes its time.
TEST(InprocStart, OnStreamsOfDevices) {
  for (const char* const emulate : {"2", "gpu:1GiB,gpu:1GiB;link=1GB/s"}) {
    const auto devices = make_devices({.emulate = emulate}).value();
    constexpr std::int64_t kElements = 1'000'000;  // 4 MB
    Started a(1, kElements), b(2, kElements);
    {
      const InprocGroup group(2);
      a.start(*group.on_device(0, devices[1].get(), nullptr));
      b.start(*group.on_device(1, devices[2].get(), nullptr));
    }
    while (a.times + b.times < 2) std::this_thread::yield();
    EXPECT_EQ(a.tensor.data<float>()[kElements - 1], 3);
    EXPECT_EQ(b.tensor.data<float>()[kElements - 1], 3);
  }
}

// Where the last rank throws, or a callback, nobody else would tell the others.
TEST(InprocStart, WhatIsThrownEndsItForAll) {
  class NoMemory final : public GroupBackend {
   public:
    Result<std::vector<Event>> start(std::span<const CollectiveCall>, const std::shared_ptr<StepAbort>&) override {
      throw std::bad_alloc();
    }
  };
  NoMemory backend;
  const InprocGroup group(2);
  Started a(1), b(2);
  a.start(*group.on_device(0, nullptr, &backend));
  b.start(*group.on_device(1, nullptr, &backend));
  for (const Started* const s : {&a, &b}) {
    EXPECT_EQ(s->times, 1);
    EXPECT_EQ(s->status.code(), Code::kResourceExhausted);
  }
}

TEST(InprocStart, ACallbackThatThrowsHoldsUpNobody) {
  InprocGroup group(2);
  const Tensor first = Tensor::zeros(DType::kFloat32, {3});
  Started second(2);
  group.rank(0).start({.kind = Collective::kAllReduce, .name = "bucket 3", .tensors = {&first, 1}},
                      [](const Result<Event>&) { throw std::bad_alloc(); });
  second.start(group.rank(1));
  EXPECT_EQ(second.times, 1);
  EXPECT_TRUE(second.status.ok());
}

TEST(InprocStart, AbortEndsWhatIsIncomplete) {
  InprocGroup group(2);
  Started now(1), later(1), after(1);
  now.start(group.rank(0));
  later.start(group.rank(0));
  group.abort(data_loss("first"));
  group.abort(internal_error("too late"));
  after.start(group.rank(1));
  for (const Started* const s : {&now, &later, &after}) {
    EXPECT_EQ(s->times, 1);
    EXPECT_EQ(s->status.code(), Code::kDataLoss);
  }
  ASSERT_TRUE(group.reset().ok());
  Started a(1), b(2);
  a.start(group.rank(0));
  b.start(group.rank(1));
  EXPECT_EQ(a.first(), 3) << "the group must be usable afterwards";
}

TEST(InprocStart, TheStepsCancellationEndsIt) {
  Cancellation step;
  Started a(1), b(1);
  {
    InprocGroup group(2, {.cancellation = &step});
    a.start(group.rank(0));
    step.cancel(cancelled("enough"));
    EXPECT_EQ(a.status.code(), Code::kCancelled);
  }
  InprocGroup late(2, {.cancellation = &step});
  b.start(late.rank(1));
  EXPECT_EQ(b.status.code(), Code::kCancelled);
}

TEST(InprocStart, ATimeOutSaysWhoIsMissingAndWhoIsThere) {
  Timers timers;
  InprocGroup group(3, {.timeout = {}, .timers = &timers});
  Started a(1), b(1);
  a.start(group.rank(0));
  b.start(group.rank(2), std::chrono::milliseconds(20));
  while (a.times + b.times < 2) std::this_thread::yield();
  EXPECT_EQ(a.status.id(), "ARG-COMM-002");
  EXPECT_THAT(a.status.message(), HasSubstr("\"bucket 3\" of float[3]: after 0.02 s rank 1 of 3 had not come"));
  EXPECT_THAT(b.status.message(), HasSubstr("these have: 'sum', 'sum'"));
}

TEST(InprocStart, ATimeOutOfACompleteCollectiveDoesNothing) {
  Timers timers;
  InprocGroup group(2, {.timers = &timers});
  for (int i = 0; i < 100; ++i) {
    Started a(1), b(1);
    a.start(group.rank(0), std::chrono::seconds(10));
    b.start(group.rank(1), std::chrono::nanoseconds(1));
    EXPECT_TRUE(a.status.ok());
    EXPECT_EQ(a.times + b.times, 2);
  }
}

TEST(InprocStart, AMessageToNobodyIsAnError) {
  InprocGroup group(2);
  Status status;
  const Tensor t = Tensor::scalar(1.0F);
  group.rank(1).start({.kind = Collective::kSend, .peer = 1, .tensors = {&t, 1}},
                      [&](Result<Event> end) { status = end.status(); });
  EXPECT_EQ(status.id(), "ARG-COMM-001");
}

}  // namespace
}  // namespace argosy
