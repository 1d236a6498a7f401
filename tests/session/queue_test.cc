// Queues between the steps of a session: order, batches, closing, waiting, cancellation, and many threads at once.
#include "argosy/ops/queue/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

const std::vector<DType> kFloats = {DType::kFloat32};
const std::vector<DType> kInts = {DType::kInt32};

class Queues : public testing::Test {
 protected:
  Value number(float x) { return constant(graph_, x); }
  Value count(std::int32_t n) { return constant(graph_, n); }
  TestSession& session() {
    EXPECT_TRUE(graph_.status().ok()) << graph_.status().to_string();
    if (!session_) session_ = std::make_unique<TestSession>(graph_, SessionOptions{.device_set = device_set_});
    return *session_;
  }
  Status run(Value target) { return session().run_targets({target}); }
  Tensor get(Value fetch) {
    auto out = session().run({fetch});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? out->at(0) : Tensor();
  }
  Status refusal(Value fetch) { return session().run({fetch}).status(); }
  void expect(Value fetch, const Tensor& expected) { EXPECT_EQ(difference(get(fetch), expected, 0), ""); }

  Graph graph_;
  std::shared_ptr<DeviceSet> device_set_ = *DeviceSet::make({});
  std::unique_ptr<TestSession> session_;
};

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST_F(Queues, FirstInFirstOut) {
  const Value q = fifo_queue(graph_, {.dtypes = kFloats, .shapes = {PartialShape::scalar()}}, "q");
  const Value three = enqueue_many(q, {constant(graph_, Tensor::vector<float>({1, 2, 3}))});
  const Value one = dequeue(q, kFloats)[0], two = dequeue_many(q, count(2), kFloats)[0];
  EXPECT_EQ(one.shape().to_string(), "[]");
  EXPECT_EQ(two.shape().to_string(), "[2]");
  ASSERT_TRUE(run(three).ok());
  expect(queue_size(q), Tensor::scalar(std::int32_t{3}));
  expect(one, Tensor::scalar(1.f));
  expect(two, Tensor::vector<float>({2, 3}));
  expect(dequeue_many(q, count(0), kFloats)[0], Tensor::zeros(DType::kFloat32, {0}));
}

TEST_F(Queues, RefuseAWaitForATime) {
  const Value q = fifo_queue(graph_, {.dtypes = kFloats, .shapes = {PartialShape::scalar()}}, "q");
  const AttrMap in = {{"timeout_ms", 10}}, out = {{"component_types", kFloats}, {"timeout_ms", 10}};
  for (const Value& waiting :
       {graph_.add("QueueEnqueueV2", {q, number(1)}, in),
        graph_.add("QueueEnqueueManyV2", {q, constant(graph_, Tensor::vector<float>({1}))}, in),
        graph_.add("QueueDequeueV2", {q}, out), graph_.add("QueueDequeueManyV2", {q, count(1)}, out),
        graph_.add("QueueDequeueUpToV2", {q, count(1)}, out)}) {
    EXPECT_THAT(run(waiting).message(), HasSubstr("Timeout not supported yet."));
  }
}

TEST_F(Queues, ElementsOfSeveralComponents) {
  const std::vector<DType> dtypes = {DType::kInt32, DType::kString};
  const Value q = fifo_queue(graph_, {.dtypes = dtypes, .shapes = {PartialShape::scalar(), {2}}}, "q");
  const Value in = enqueue(q, {count(7), constant(graph_, Tensor::vector<std::string>({"a", "b"}))});
  const auto out = dequeue(q, dtypes);
  EXPECT_EQ(out[1].shape().to_string(), "[2]");
  ASSERT_TRUE(run(in).ok());
  const auto got = session().run({out[0], out[1]});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(*got->at(0).data<std::int32_t>(), 7);
  EXPECT_EQ(got->at(1).data<std::string>()[1], "b");
  EXPECT_THAT(refusal(dequeue(q, kInts)[0]).message(),
              HasSubstr("Signature mismatch, have: resource->int32 expected: resource->int32, string"));
  EXPECT_THAT(run(enqueue(q, {count(7)})).message(), HasSubstr("expected: resource, int32, string->"));
}

// What TensorFlow's queues say.
TEST_F(Queues, ClosedForEnqueuesThenDrained) {
  const Value q = fifo_queue(graph_, {.dtypes = kFloats, .shapes = {PartialShape::scalar()}}, "q");
  const Value in = enqueue(q, {number(1)}), out = dequeue(q, kFloats)[0], close = close_queue(q);
  const Value three = dequeue_many(q, count(3), kFloats)[0], some = dequeue_up_to(q, count(3), kFloats)[0];
  const Value closed = queue_is_closed(q);
  ASSERT_TRUE(run(in).ok());
  expect(closed, Tensor::scalar(false));
  ASSERT_TRUE(run(close).ok());
  expect(closed, Tensor::scalar(true));
  const Status again = run(close);
  EXPECT_EQ(again.code(), Code::kCancelled);
  EXPECT_THAT(again.message(), HasSubstr("Queue 'q' is already closed."));
  EXPECT_TRUE(run(close_queue(q, true)).ok());
  const Status late = run(in);
  EXPECT_EQ(late.code(), Code::kCancelled);
  EXPECT_THAT(late.message(), HasSubstr("FIFOQueue 'q' is closed."));
  const Status too_few = refusal(three);
  EXPECT_EQ(too_few.code(), Code::kOutOfRange);
  EXPECT_THAT(too_few.message(),
              HasSubstr("FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 1)"));
  expect(some, Tensor::vector<float>({1}));
  EXPECT_EQ(refusal(some).code(), Code::kOutOfRange);
  EXPECT_THAT(refusal(out).message(), HasSubstr("(requested 1, current size 0)"));
}

TEST_F(Queues, RandomOrderIsTensorFlowsForItsSeeds) {
  const Value q = random_shuffle_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}}, 0, 3, 5, "q");
  const Value in = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))});
  const Value six = dequeue_many(q, count(6), kInts)[0], one = dequeue(q, kInts)[0];
  ASSERT_TRUE(run(in).ok());
  expect(six, Tensor::vector<std::int32_t>({1, 9, 4, 2, 6, 0}));
  for (const std::int32_t next : {8, 7, 5, 3}) expect(one, Tensor::scalar(next));
}

TEST_F(Queues, SomeStayToBeMixedUntilItIsClosed) {
  const Value q = random_shuffle_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}}, 2, 0, 0, "q");
  const Value in = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({0, 1, 2}))});
  const Value one = dequeue(q, kInts)[0], close = close_queue(q);
  ASSERT_TRUE(run(in).ok());
  get(one);
  EXPECT_EQ(session().run({}, {one}, {}, {.timeout = std::chrono::milliseconds(50)}).status().code(),
            Code::kDeadlineExceeded);
  ASSERT_TRUE(run(close).ok());
  get(one);
  get(one);
  EXPECT_THAT(refusal(one).message(), HasSubstr("RandomShuffleQueue 'q' is closed"));
}

TEST_F(Queues, BatchesArePadded) {
  const std::vector<DType> dtypes = {DType::kInt32, DType::kString};
  const Value q = padding_fifo_queue(
      graph_, {.dtypes = dtypes, .shapes = {{PartialShape::kUnknown}, {PartialShape::kUnknown, 2}}}, "q");
  const Value a = enqueue(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2})),
                              constant(graph_, Tensor::of<std::string>({1, 2}, {"a", "b"}))});
  const Value b = enqueue(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2, 3})),
                              constant(graph_, Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"}))});
  const auto out = dequeue_many(q, count(2), dtypes);
  ASSERT_TRUE(run(a).ok());
  ASSERT_TRUE(run(b).ok());
  const auto got = session().run({out[0], out[1]});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(difference(got->at(0), Tensor::of<std::int32_t>({2, 3}, {1, 2, 0, 1, 2, 3}), 0), "");
  EXPECT_EQ(difference(got->at(1), Tensor::of<std::string>({2, 2, 2}, {"a", "b", "", "", "a", "b", "c", "d"}), 0), "");
  EXPECT_THAT(run(enqueue(q, {count(1), constant(graph_, Tensor::zeros(DType::kString, {1, 2}))})).message(),
              HasSubstr("Shape mismatch in tuple component 0. Expected [?], got []"));
}

TEST_F(Queues, TheLeastComesFirstAndEqualsInTheirOrder) {
  const std::vector<DType> dtypes = {DType::kInt64, DType::kInt32};
  const Value q = priority_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}}, "q");
  const Value in = enqueue_many(q, {constant(graph_, Tensor::vector<std::int64_t>({3, 1, 1, 2, 1})),
                                    constant(graph_, Tensor::vector<std::int32_t>({0, 1, 2, 3, 4}))});
  const Value out = dequeue_many(q, count(5), dtypes)[1];
  ASSERT_TRUE(run(in).ok());
  expect(out, Tensor::vector<std::int32_t>({1, 2, 4, 3, 0}));
}

TEST_F(Queues, RefuseWhatDoesNotFit) {
  const Value q = fifo_queue(graph_, {.dtypes = kFloats, .shapes = {{2}}}, "q");
  EXPECT_THAT(run(enqueue(q, {number(1)})).message(),
              HasSubstr("Shape mismatch in tuple component 0. Expected [2], got []"));
  EXPECT_THAT(run(enqueue_many(q, {number(1)})).message(), HasSubstr("scalar"));
  const Value two = fifo_queue(graph_, {.dtypes = {DType::kFloat32, DType::kFloat32}}, "two");
  EXPECT_THAT(run(enqueue_many(two, {constant(graph_, Tensor::vector<float>({1})),
                                     constant(graph_, Tensor::vector<float>({1, 2}))}))
                  .message(),
              HasSubstr("Component 1 has 2, and should have 1"));
  EXPECT_THAT(refusal(dequeue_many(two, count(1), {DType::kFloat32, DType::kFloat32})[0]).message(),
              HasSubstr("require the components to have specified shapes"));
  EXPECT_THAT(run(random_shuffle_queue(graph_, {.dtypes = kFloats, .capacity = 5}, 5).control()).message(),
              HasSubstr("min_after_dequeue 5 must be < capacity 5"));
  EXPECT_THAT(run(padding_fifo_queue(graph_, {.dtypes = kFloats}).control()).message(),
              HasSubstr("Shapes must be provided for all components"));
  EXPECT_THAT(run(fifo_queue(graph_, {.dtypes = kFloats, .shapes = {{PartialShape::kUnknown}}}).control()).message(),
              HasSubstr("not fully defined"));
}

TEST_F(Queues, OneByItsSharedName) {
  const QueueSpec spec{.dtypes = kInts, .shapes = {PartialShape::scalar()}, .shared_name = "common"};
  const Value q = fifo_queue(graph_, spec, "q"), in = enqueue(q, {count(5)});
  QueueSpec smaller = spec;
  smaller.capacity = 4;
  const Value other = fifo_queue(graph_, smaller, "other");
  ASSERT_TRUE(run(in).ok());
  EXPECT_THAT(run(other.control()).message(),
              HasSubstr("Shared queue 'common' has capacity 2147483647 but requested capacity was 4"));
  Graph g;
  const Value out = dequeue(fifo_queue(g, spec), kInts)[0];
  TestSession second(g, {.device_set = device_set_});
  const auto got = second.run({out});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(*got->at(0).data<std::int32_t>(), 5);
}

TEST_F(Queues, WithoutOneItIsTheSessionsOwn) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}}, "q");
  const Value in = enqueue(q, {count(5)}), size = queue_size(q);
  ASSERT_TRUE(run(in).ok());
  expect(size, Tensor::scalar(std::int32_t{1}));
  TestSession second(graph_, {.device_set = device_set_});
  EXPECT_EQ(*second.run({size})->at(0).data<std::int32_t>(), 0);
}

TEST_F(Queues, OldFormsByReference) {
  for (const char* kind : {"FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"}) {
    SCOPED_TRACE(kind);
    const bool priority = kind == std::string("PriorityQueue");
    const Value q = graph_.add(
        kind, {}, {{"component_types", kInts}, {"shapes", std::vector<PartialShape>{PartialShape::scalar()}}});
    std::vector<DType> dtypes = kInts;
    std::vector<Value> one = {q, count(5)}, rows = {q, constant(graph_, Tensor::vector<std::int32_t>({6, 6, 6}))};
    if (priority) {
      dtypes.insert(dtypes.begin(), DType::kInt64);
      one.insert(one.begin() + 1, constant(graph_, std::int64_t{1}));
      rows.insert(rows.begin() + 1, constant(graph_, Tensor::vector<std::int64_t>({2, 2, 2})));
    }
    const AttrMap types = {{"component_types", dtypes}};
    const int last = priority ? 1 : 0;
    const Value in = graph_.add("QueueEnqueue", one).control(), more = graph_.add("QueueEnqueueMany", rows).control();
    const Value out = graph_.add("QueueDequeue", {q}, types).output(last);
    const Value two = graph_.add("QueueDequeueMany", {q, count(2)}, types).output(last);
    const Value rest = graph_.add("QueueDequeueUpTo", {q, count(2)}, types).output(last);
    const Value size = graph_.add("QueueSize", {q}), closed = graph_.add("QueueIsClosed", {q});
    const Value close = graph_.add("QueueClose", {q}).control();
    const Value read = identity(q);
    ASSERT_TRUE(run(in).ok());
    expect(size, Tensor::scalar(std::int32_t{1}));
    expect(out, Tensor::scalar(std::int32_t{5}));
    ASSERT_TRUE(run(more).ok());
    expect(two, Tensor::vector<std::int32_t>({6, 6}));
    ASSERT_TRUE(run(close).ok());
    expect(closed, Tensor::scalar(true));
    expect(rest, Tensor::vector<std::int32_t>({6}));
    EXPECT_EQ(refusal(read).code(), Code::kInvalidArgument);  // a handle is no value to read
  }
}

// --- waiting ---------------------------------------------------------------------------------------------------------

TEST_F(Queues, EnqueuesWaitForRoomAndAreCancelledByTheClose) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}, .capacity = 2}, "q");
  const Value four = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2, 3, 4}))});
  const Value one = dequeue(q, kInts)[0], size = queue_size(q), close = close_queue(q, true);
  session();
  Status waited;
  std::thread waiting([&] { waited = run(four); });
  while (*get(size).data<std::int32_t>() < 2) nap(1);
  expect(one, Tensor::scalar(std::int32_t{1}));
  while (*get(size).data<std::int32_t>() < 2) nap(1);
  ASSERT_TRUE(run(close).ok());
  waiting.join();
  EXPECT_EQ(waited.code(), Code::kCancelled);
  EXPECT_THAT(waited.message(), HasSubstr("Enqueue operation was cancelled"));
  expect(one, Tensor::scalar(std::int32_t{2}));
}

TEST_F(Queues, ACloseComesAfterEnqueuesThatWait) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}, .capacity = 1}, "q");
  const Value two = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2}))});
  const Value one = dequeue(q, kInts)[0], size = queue_size(q), close = close_queue(q), closed = queue_is_closed(q);
  session();
  std::thread waiting([&] { EXPECT_TRUE(run(two).ok()); });
  while (*get(size).data<std::int32_t>() < 1) nap(1);
  std::thread closing([&] { EXPECT_TRUE(run(close).ok()); });
  nap(20);
  expect(closed, Tensor::scalar(false));
  expect(one, Tensor::scalar(std::int32_t{1}));
  waiting.join();
  closing.join();
  expect(one, Tensor::scalar(std::int32_t{2}));
  EXPECT_EQ(refusal(one).code(), Code::kOutOfRange);
}

TEST_F(Queues, ACancelledBatchGivesItsElementsBack) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}, .capacity = 4}, "q");
  const Value in = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2}))});
  const Value six = dequeue_many(q, count(6), kInts)[0], two = dequeue_many(q, count(2), kInts)[0];
  const Value size = queue_size(q);
  ASSERT_TRUE(run(in).ok());
  EXPECT_EQ(session().run({}, {six}, {}, {.timeout = std::chrono::milliseconds(50)}).status().code(),
            Code::kDeadlineExceeded);
  expect(size, Tensor::scalar(std::int32_t{2}));
  expect(two, Tensor::vector<std::int32_t>({1, 2}));
}

// The first in line gives up: the second gets what is there.
TEST_F(Queues, WhoGivesUpLeavesTheLine) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts, .shapes = {PartialShape::scalar()}}, "q");
  const Value in = enqueue_many(q, {constant(graph_, Tensor::vector<std::int32_t>({1, 2}))});
  const Value three = dequeue_many(q, count(3), kInts)[0], two = dequeue_many(q, count(2), kInts)[0];
  const Value size = queue_size(q);
  session();
  Cancellation enough;
  std::thread first(
      [&] { EXPECT_EQ(session().run({}, {three}, {}, {.cancellation = &enough}).status().code(), Code::kCancelled); });
  nap(20);
  std::thread second([&] { expect(two, Tensor::vector<std::int32_t>({1, 2})); });
  ASSERT_TRUE(run(in).ok());
  nap(20);
  enough.cancel(cancelled("enough"));
  first.join();
  second.join();
  expect(size, Tensor::scalar(std::int32_t{0}));
}

TEST_F(Queues, ClosingTheSessionEndsWhoWaits) {
  const Value q = fifo_queue(graph_, {.dtypes = kInts}, "q");
  const Value one = dequeue(q, kInts)[0];
  session();
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back([&] { EXPECT_EQ(session().run({one}).status().code(), Code::kCancelled); });
  }
  nap(20);
  ASSERT_TRUE(session().close().ok());
  for (std::thread& t : waiting) t.join();
}

// --- many at once ----------------------------------------------------------------------------------------------------

// Every number goes in once and comes out once, while others wait in vain at a second queue and give up.
void stress(bool shuffle, std::int64_t capacity) {
  constexpr int kProducers = 4, kConsumers = 4, kEach = 50;
  Graph g;
  const QueueSpec spec{.dtypes = kInts, .shapes = {PartialShape::scalar()}, .capacity = capacity};
  const Value q = shuffle ? random_shuffle_queue(g, spec, 1) : fifo_queue(g, spec);
  const Value x = placeholder(g, DType::kInt32, PartialShape{3});
  const Value in = enqueue_many(q, {x}), one = dequeue(q, kInts)[0], close = close_queue(q);
  const Value batch = dequeue_up_to(q, constant(g, std::int32_t{5}), kInts)[0];
  const Value never = dequeue(fifo_queue(g, spec), kInts)[0];
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {});
  std::vector<std::atomic<int>> seen(kProducers * kEach * 3);
  std::vector<std::thread> producers, others;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (std::int32_t i = 0; i < kEach; ++i) {
        const std::int32_t first = (p * kEach + i) * 3;
        const Tensor three = Tensor::vector<std::int32_t>({first, first + 1, first + 2});
        EXPECT_TRUE(session.run({{x, three}}, {}, {in}).ok());
      }
    });
  }
  for (int k = 0; k < kConsumers; ++k) {
    others.emplace_back([&, k] {
      for (;;) {
        const auto out = session.run({k % 2 == 0 ? one : batch});
        if (!out.ok()) {
          EXPECT_EQ(out.status().code(), Code::kOutOfRange) << out.status().to_string();
          return;
        }
        for (const std::int32_t v : out->at(0).values<std::int32_t>()) ++seen[static_cast<std::size_t>(v)];
      }
    });
  }
  others.emplace_back([&] {
    for (int i = 0; i < 20; ++i) {
      const auto out = session.run({}, {never}, {}, {.timeout = std::chrono::milliseconds(1 + i % 3)});
      EXPECT_EQ(out.status().code(), Code::kDeadlineExceeded);
    }
  });
  for (std::thread& t : producers) t.join();
  EXPECT_TRUE(session.run_targets({close}).ok());
  for (std::thread& t : others) t.join();
  for (const auto& n : seen) EXPECT_EQ(n.load(), 1);
}

TEST(QueueStress, ManyThreadsThroughAFullQueue) { stress(false, 7); }
TEST(QueueStress, ManyThreadsThroughAShuffledQueue) { stress(true, 16); }

}  // namespace
}  // namespace argosy
