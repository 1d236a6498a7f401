#include "argosy/ops/queue/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/queue/queue_state.h"
#include "argosy/ops/queue/test_operation_end.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

using testing::HasSubstr;

const QueueOptions kNumbers = {.dtypes = {DType::kInt32}, .shapes = {PartialShape::scalar()}, .capacity = 8};

TEST(Queue, WhoCameFirstIsServedFirst) {
  const auto queue = std::make_shared<QueueState>("q", kNumbers);
  Cancellation step;
  const QueueState::Caller caller{&step, &host_allocator()};
  Ended three, one;
  queue->dequeue_many(3, false, caller, three.done());
  queue->dequeue(caller, one.done());
  for (std::int32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(three.times, 0);
    Ended in;
    queue->enqueue({Tensor::scalar(i)}, caller, in.done());
    EXPECT_EQ(in.times, 1);
  }
  ASSERT_EQ(three.times, 1);
  EXPECT_EQ(difference(three.tuple[0], Tensor::vector<std::int32_t>({0, 1, 2}), 0), "");
  EXPECT_EQ(one.times, 0);
  step.cancel(cancelled("enough"));
  EXPECT_EQ(one.times, 1);
  EXPECT_EQ(one.status.code(), Code::kCancelled);
  EXPECT_THAT(one.status.message(), HasSubstr("Dequeue operation was cancelled"));
}

TEST(Queue, AnUnknownShapeIsNoScalar) {
  Graph g;
  EXPECT_FALSE(fifo_queue(g, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape{}}}).valid());
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(g.status().hint(), HasSubstr("PartialShape::scalar()"));
}

TEST(Queue, OutsideAStepNothingIsWaitedFor) {
  const auto queue = std::make_shared<QueueState>("q", kNumbers);
  Ended out;
  queue->dequeue({nullptr, &host_allocator()}, out.done());
  EXPECT_EQ(out.times, 1);
  EXPECT_EQ(out.status.code(), Code::kFailedPrecondition);
}

TEST(Queue, ABatchWithoutMemoryGivesItsElementsBack) {
  class NoMemory final : public Allocator {
   public:
    Result<Buffer> allocate(std::size_t) override { return resource_exhausted("none"); }
    MemoryStats stats() const override { return {}; }
  } none;
  const auto queue = std::make_shared<QueueState>("q", kNumbers);
  Cancellation step;
  Ended in, out;
  queue->enqueue({Tensor::scalar(std::int32_t{1})}, {&step, &host_allocator()}, in.done());
  queue->dequeue_many(1, false, {&step, &none}, out.done());
  EXPECT_EQ(out.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(queue->size(), 1);
}

// The queue is busy with it: the cancellation waits for its turn, and the rows do not.
TEST(Queue, ManyRowsStopToEnterWhenTheirStepIsOver) {
  class EndsTheStep final : public Allocator {
   public:
    explicit EndsTheStep(Cancellation& step) : step_(step) {}
    ~EndsTheStep() override { thread_.join(); }
    Result<Buffer> allocate(std::size_t bytes) override {
      if (++rows_ == 10) {
        thread_ = std::thread([this] { step_.cancel(cancelled("enough")); });
        while (!step_.cancelled()) std::this_thread::yield();
      }
      return host_allocator().allocate(bytes);
    }
    MemoryStats stats() const override { return {}; }

   private:
    Cancellation& step_;
    int rows_ = 0;
    std::thread thread_;
  };
  QueueOptions options = kNumbers;
  options.capacity = 1'000'000;
  const auto queue = std::make_shared<QueueState>("q", options);
  Cancellation step;
  Ended in;
  {
    EndsTheStep memory(step);
    queue->enqueue_many({Tensor::zeros(DType::kInt32, {1000})}, {&step, &memory}, in.done());
  }
  EXPECT_EQ(in.times, 1);
  EXPECT_EQ(in.status.code(), Code::kCancelled) << in.status.to_string();
  EXPECT_EQ(queue->size(), 10);
}

// Steps are cancelled at any moment; an element is never lost and never given twice.
TEST(Queue, NothingIsLostWhoeverIsCancelled) {
  constexpr std::int32_t kNumber = 600;
  const auto queue = std::make_shared<QueueState>("q", kNumbers);
  std::vector<std::atomic<int>> seen(kNumber);
  std::atomic<bool> over{false};
  std::atomic<int> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::int32_t i = t; i < kNumber;) {
        Cancellation step;
        std::atomic<int> ended{0};
        bool in = false;
        queue->enqueue({Tensor::scalar(i)}, {&step, &host_allocator()}, [&](const Status& s, const auto&) {
          in = s.ok();
          ended.store(1, std::memory_order_release);
        });
        if (i % 7 == 0) step.cancel(cancelled("enough"));
        while (ended.load(std::memory_order_acquire) == 0) std::this_thread::yield();
        if (!in) continue;  // and once more
        i += 2;
        ++entered;
      }
    });
  }
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<std::uint32_t>(t));
      while (!over.load()) {
        Cancellation step;
        std::atomic<int> ended{0};
        const auto take = [&](const Status& s, const QueueState::Tuple& tuple) {
          for (const std::int32_t v : s.ok() ? tuple[0].values<std::int32_t>() : std::span<std::int32_t>()) {
            ++seen[static_cast<std::size_t>(v)];
          }
          ended.store(1, std::memory_order_release);
        };
        if (random() % 2 == 0) {
          queue->dequeue({&step, &host_allocator()}, take);
        } else {
          queue->dequeue_many(3, false, {&step, &host_allocator()}, take);
        }
        for (unsigned k = random() % 64; k > 0 && ended.load(std::memory_order_acquire) == 0; --k) {
          std::this_thread::yield();
        }
        step.cancel(cancelled("enough"));
        while (ended.load(std::memory_order_acquire) == 0) std::this_thread::yield();
      }
    });
  }
  for (int t = 0; t < 2; ++t) threads[static_cast<std::size_t>(t)].join();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (queue->size() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  over = true;
  for (std::size_t t = 2; t < threads.size(); ++t) threads[t].join();
  std::int64_t given = queue->size();
  for (const auto& n : seen) {
    EXPECT_LE(n.load(), 1);
    given += n.load();
  }
  EXPECT_EQ(entered.load(), kNumber);
  EXPECT_EQ(given, kNumber);
}

TEST(Queue, ShapesOfWhatComesOut) {
  Graph g;
  const std::vector<DType> dtypes = {DType::kFloat32, DType::kInt64};
  const Value q = padding_fifo_queue(g, {.dtypes = dtypes, .shapes = {{PartialShape::kUnknown, 3}, {2}}});
  EXPECT_EQ(dequeue(q, dtypes)[0].shape().to_string(), "[?,3]");
  const auto batch = dequeue_many(q, constant(g, std::int32_t{4}), dtypes);
  EXPECT_EQ(batch[0].shape().to_string(), "[4,?,3]");
  EXPECT_EQ(batch[1].shape().to_string(), "[4,2]");
  EXPECT_EQ(dequeue_up_to(q, constant(g, std::int32_t{4}), dtypes)[1].shape().to_string(), "[?,2]");
  EXPECT_EQ(queue_size(q).shape().to_string(), "[]");
  ASSERT_TRUE(g.status().ok());
  dequeue_many(q, constant(g, std::int32_t{-1}), dtypes);
  EXPECT_EQ(g.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
