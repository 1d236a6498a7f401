// Steps with instructions that may block: which have a static schedule, that none waits for ever where dataflow rules
// would go on, and that waiting holds up nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <thread>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

// The least that blocks: a line of numbers. Whoever takes waits for one who puts.
class Line final : public Resource {
 public:
  std::string describe() const override { return "Line"; }
  using Taker = std::function<void(Result<Tensor>)>;

  void put(Tensor value) {
    std::shared_ptr<Taker> taker;
    {
      MutexLock lock(mutex_);
      if (takers_.empty()) {
        values_.push_back(std::move(value));
        return;
      }
      taker = std::move(takers_.front());
      takers_.pop_front();
    }
    (*taker)(std::move(value));
  }
  void take(Taker done, Cancellation& cancellation) {
    auto taker = std::make_shared<Taker>(std::move(done));
    Tensor value;
    {
      MutexLock lock(mutex_);
      if (values_.empty()) {
        takers_.push_back(taker);
      } else {
        value = std::move(values_.front());
        values_.pop_front();
      }
    }
    if (value.valid()) return (*taker)(std::move(value));
    Cancellation::Token token = 0;
    const auto leave = [this, taker, &cancellation] {
      {
        MutexLock lock(mutex_);
        if (std::erase(takers_, taker) == 0) return;
      }
      (*taker)(cancellation.status());
    };
    if (!cancellation.add(leave, &token)) leave();
  }
  std::int32_t size() const {
    MutexLock lock(mutex_);
    return static_cast<std::int32_t>(values_.size());
  }

 private:
  mutable Mutex mutex_;
  std::deque<Tensor> values_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Taker>> takers_ ARGOSY_GUARDED_BY(mutex_);
};

class PutKernel final : public AsyncKernel {
 public:
  void run_async(KernelContext& c, Done done) override {
    const auto line = c.resource<Line>(0);
    if (line.ok()) (*line)->put(c.input(1).owned());
    done(line.status());
  }
};

class TakeKernel final : public AsyncKernel {
 public:
  void run_async(KernelContext& c, Done done) override {
    const auto line = c.resource<Line>(0);
    if (!line.ok()) return done(line.status());
    (*line)->take(
        [&c, done](Result<Tensor> value) {
          if (value.ok()) c.set_output(0, *value);
          done(value.status());
        },
        c.step()->cancellation());
  }
};

class LineKernel final : public Kernel {
 public:
  explicit LineKernel(std::string name) : name_(std::move(name)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto line,
                            c.resources().find_or_make<Line>("", name_, [] { return std::make_shared<Line>(); }));
    c.set_output(0, Tensor::scalar(ResourceHandle("", name_, std::move(line))));
    return ok_status();
  }

 private:
  const std::string name_;
};

template <typename K>
Result<std::unique_ptr<Kernel>> make_kernel(const KernelInit&) {
  return std::unique_ptr<Kernel>(std::make_unique<K>());
}

Status scalars(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape::scalar());
  return ok_status();
}

OpRegistry ops_with_lines() {
  OpRegistry ops = copy_builtin_ops();
  const auto add = [&](const char* name, std::vector<std::string> inputs, std::vector<std::string> outputs,
                       bool async) {
    ops.add({.name = name,
             .doc = "for these tests",
             .inputs = std::move(inputs),
             .outputs = std::move(outputs),
             .shape = scalars,
             .gradient = kNotDifferentiable,
             .stateful = true,
             .cpu_only = true,
             .async = async});
  };
  add("Line", {}, {"line: resource"}, false);
  add("Put", {"line: resource", "x: float"}, {}, true);
  add("Take", {"line: resource"}, {"x: float"}, true);
  add("LineSize", {"line: resource"}, {"size: int32"}, false);
  return ops;
}

KernelRegistry kernels_with_lines() {
  KernelRegistry kernels = cpu_kernels();
  kernels.add("Line", "cpu", [](const KernelInit& init) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<LineKernel>(std::string(init.node)));
  });
  kernels.add("Put", "cpu", make_kernel<PutKernel>);
  kernels.add("Take", "cpu", make_kernel<TakeKernel>);
  kernels.add("LineSize", "cpu", [](KernelContext& c) -> Status {
    ARGOSY_ASSIGN_OR_RETURN(const auto line, c.resource<Line>(0));
    c.set_output(0, Tensor::scalar(line->size()));
    return ok_status();
  });
  return kernels;
}

class BlockingTest : public testing::Test {
 protected:
  explicit BlockingTest(std::string emulate = "")
      : session(graph, {.devices = {.emulate = std::move(emulate)}, .kernels = &kernels}) {}

  Value queue(const char* name) { return graph.add("Line", {}, {}, name); }
  static Value take(Value q) { return q.graph().add("Take", {q}); }
  static Value enqueue(Value q, Value x) { return q.graph().add("Put", {q, x}); }
  Value number(float v) { return constant(graph, v); }
  void put(Value q, float v) {
    const Status put = session.run_targets({enqueue(q, number(v))});
    ASSERT_TRUE(put.ok()) << put.to_string();
  }
  std::string order_of(const std::vector<Value>& fetches, const std::vector<Value>& targets = {}) {
    const auto report = session.placement({}, fetches, targets);
    if (!report.ok()) return report.status().to_string();
    for (const std::string& note : report->passes) {
      if (note.starts_with("order:")) return note;
    }
    return "";
  }
  std::future<Result<std::vector<Tensor>>> start(std::vector<Value> fetches, std::vector<Value> targets = {},
                                                 Cancellation* cancellation = nullptr) {
    return std::async(std::launch::async, [this, fetches, targets, cancellation] {
      return session.run({}, fetches, targets, {.timeout = 20s, .cancellation = cancellation});
    });
  }
  float value(std::future<Result<std::vector<Tensor>>> run) {
    auto out = run.get();
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out->at(0).data<float>() : 0;
  }
  // Long enough for a step to be where it waits; nothing but what is tried depends on it.
  static void let_it_wait() { std::this_thread::sleep_for(20ms); }

  const OpRegistry ops = ops_with_lines();
  const KernelRegistry kernels = kernels_with_lines();
  Graph graph{ops};
  TestSession session;
};

TEST_F(BlockingTest, WhatFollowsADequeueIsOrdered) {
  const Value q = queue("q");
  const VariableNode v = variable(graph, Tensor::scalar(1.0F), "v");
  const Value sum = assign_add(v, take(q) * take(q));
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  EXPECT_THAT(order_of({sum}), StartsWith("order: static"));
  auto run = start({sum});
  let_it_wait();
  put(q, 3);
  EXPECT_EQ(run.wait_for(0s), std::future_status::timeout);
  put(q, 4);
  EXPECT_EQ(value(std::move(run)), 13);
}

// What depends on no blocking item is done while the step waits.
TEST_F(BlockingTest, OneStepFillsAndEmptiesAQueue) {
  const Value q = queue("q");
  const Value taken = take(q);
  const Value given = enqueue(q, number(5));
  EXPECT_THAT(order_of({taken}, {given}), StartsWith("order: static"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value(start({taken}, {given})), 5);
  }
}

//  q1 ─► enqueue q2       dequeue q2 (waits for the enqueue, and nothing in the graph says so)
TEST_F(BlockingTest, TwoDequeuesInAChainBetweenQueuesHaveNoOrder) {
  const Value q1 = queue("q1"), q2 = queue("q2");
  const Value second = take(q2) + 1;
  const Value passed_on = enqueue(q2, take(q1));
  EXPECT_THAT(order_of({second}, {passed_on}), HasSubstr("may release what"));
  auto run = start({second}, {passed_on});
  let_it_wait();
  put(q1, 7);
  EXPECT_EQ(value(std::move(run)), 8);
}

// The same where another step is between the two: its queue is not even in this graph's step.
TEST_F(BlockingTest, NorWhereAnotherStepIsBetween) {
  const Value q1 = queue("q1"), q2 = queue("q2"), q3 = queue("q3");
  const Value last = take(q3);
  const Value there = enqueue(q2, take(q1));
  EXPECT_THAT(order_of({last}, {there}), HasSubstr("may release what"));
  const Value back = enqueue(q3, take(q2));
  auto run = start({last}, {there});
  auto between = start({}, {back});
  let_it_wait();
  put(q1, 9);
  EXPECT_EQ(value(std::move(run)), 9);
  EXPECT_TRUE(between.get().ok());
}

TEST_F(BlockingTest, ButOneAfterTheOtherTheyHave) {
  const Value q1 = queue("q1"), q2 = queue("q2");
  const Value passed_on = enqueue(q2, take(q1));
  Value second;
  {
    const auto after = graph.control_dependencies({passed_on});
    second = take(q2);
  }
  EXPECT_THAT(order_of({second}), StartsWith("order: static"));
  auto run = start({second});
  let_it_wait();
  put(q1, 7);
  EXPECT_EQ(value(std::move(run)), 7);
}

TEST_F(BlockingTest, AQueueInABranchNotTakenIsLeftAlone) {
  const Value q = queue("q"), other = queue("other");
  const Value p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
  const Value y = cond_value(
      p, [&] { return take(q); }, [&] { return take(other); });
  put(q, 1);
  put(other, 2);
  for (const bool taken : {true, false}) {
    const auto out = session.run({{p, Tensor::scalar(taken)}}, {y}, {}, {.timeout = 20s});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*out->at(0).data<float>(), taken ? 1 : 2);
  }
  put(other, 3);
  EXPECT_EQ(*session.run({graph.add("LineSize", {q})})->at(0).data<std::int32_t>(), 0);
  EXPECT_EQ(*session.run({graph.add("LineSize", {other})})->at(0).data<std::int32_t>(), 1);
}

TEST_F(BlockingTest, LoopsOverAQueue) {
  const Value q = queue("q");
  const auto last = while_loop(
      {constant(graph, std::int32_t{0}), number(0)}, [&](const auto& v) { return less(v[0], 3); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * 10 + take(q)};
      });
  EXPECT_THAT(order_of({last[1]}), HasSubstr("asynchronous and in a loop"));
  for (const float v : {1.0F, 2.0F, 3.0F}) put(q, v);
  // Iterations may be under way at once, so which takes which is open.
  EXPECT_GT(value(start({last[1]})), 100);
}

TEST_F(BlockingTest, AWaitEndsWhenItIsCancelled) {
  const Value q = queue("q");
  const Value y = take(q) + 1;
  ASSERT_THAT(order_of({y}), StartsWith("order: static"));
  Cancellation cancellation;
  auto run = start({y}, {}, &cancellation);
  let_it_wait();
  const auto before = std::chrono::steady_clock::now();
  cancellation.cancel(cancelled("enough"));
  EXPECT_EQ(run.get().status().code(), Code::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - before, 5s);
  const auto late = session.run({}, {y}, {}, {.timeout = 30ms});
  EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded) << late.status().to_string();
  put(q, 1);
  EXPECT_EQ(value(start({y})), 2);
}

class BlockingOnDevices : public BlockingTest {
 protected:
  BlockingOnDevices() : BlockingTest("2") {}
  Value on_gpu(int d, const std::function<Value()>& build) {
    const auto on = graph.device(str_cat("/gpu:", d));
    return build();
  }
};

TEST_F(BlockingOnDevices, AWaitingStepHoldsNoStream) {
  const Value q = queue("q");
  const Value x = placeholder(graph, DType::kFloat32, PartialShape::scalar(), "x");
  const Value free = on_gpu(0, [&] { return exp(x) * 0; });
  const Value fed = take(q);
  Value y = on_gpu(0, [&] { return fed + free; });
  y = on_gpu(1, [&] { return y * 2; });
  const Value other = on_gpu(1, [&] { return on_gpu(0, [&] { return x + 1; }) * 3; });
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  const auto report = session.placement({{x, {}}}, {y}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->passes, testing::Contains(StartsWith("order: static")));
  const Feeds feeds = {{x, Tensor::scalar(1.0F)}};
  std::vector<std::future<Result<std::vector<Tensor>>>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] { return session.run(feeds, {y}, {}, {.timeout = 20s}); }));
  }
  let_it_wait();
  for (int i = 0; i < 10; ++i) {
    const auto out = session.run(feeds, {other}, {}, {.timeout = 10s});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*out->at(0).data<float>(), 6);
  }
  for (int i = 0; i < 3; ++i) put(q, 4);
  for (auto& run : waiting) EXPECT_EQ(value(std::move(run)), 8);
}

TEST_F(BlockingOnDevices, AWaitForDevicesEndsWhenItIsCancelled) {
  const Value q = queue("q");
  const Value fed = take(q);
  const Value y = on_gpu(0, [&] { return fed * 2; });
  ASSERT_THAT(order_of({y}), StartsWith("order: static"));
  Cancellation cancellation;
  auto run = start({y}, {}, &cancellation);
  let_it_wait();
  cancellation.cancel(cancelled("enough"));
  EXPECT_EQ(run.get().status().code(), Code::kCancelled);
  put(q, 3);
  EXPECT_EQ(value(start({y})), 6);
}

// q1 ─► gpu ─► enqueue q2: one part before, one after. A device between two that others wait for: no order.
TEST_F(BlockingOnDevices, PipelinesOverDevices) {
  const Value q1 = queue("q1"), q2 = queue("q2");
  const Value fed = take(q1);
  const Value squared = on_gpu(0, [&] { return fed * fed; });
  const Value passed_on = enqueue(q2, squared);
  EXPECT_THAT(order_of({}, {passed_on}), StartsWith("order: static"));
  Value after;
  {
    const auto controls = graph.control_dependencies({passed_on});
    after = on_gpu(1, [&] { return squared + 1; });
  }
  EXPECT_THAT(order_of({after}), HasSubstr("between two instructions that may block"));
  for (int i = 0; i < 2; ++i) {
    auto run = i == 0 ? start({}, {passed_on}) : start({after});
    let_it_wait();
    put(q1, 3);
    const auto out = run.get();
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    if (i == 1) {
      EXPECT_EQ(*out->at(0).data<float>(), 10);
    }
    EXPECT_EQ(value(start({take(q2)})), 9);
  }
}

}  // namespace
}  // namespace argosy
