#include "argosy/runtime/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/state/state.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

Tensor eye(float scale) { return Tensor::of<float>({2, 2}, {scale, 0, 0, scale}); }

TEST(Session, FeedsRunsFetches) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value y = matmul(x, constant(g, eye(3)));
  TestSession session(g);
  ASSERT_TRUE(session.status().ok()) << session.status().to_string();
  for (int n = 1; n < 5; ++n) {
    const auto out = session.run({{x, Tensor::zeros(DType::kFloat32, {n, 2})}}, {y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).shape(), (Shape{n, 2}));
  }
  const auto out = session.run({{x, Tensor::of<float>({1, 2}, {1, 2})}}, {y, x});
  EXPECT_EQ(out->at(0).data<float>()[1], 6);
  EXPECT_EQ(out->at(1).data<float>()[1], 2);
}

TEST(Session, WhatIsFetchedIsTheCallersOwn) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2, 2}, "x"), c = constant(g, eye(3));
  const VariableNode v = variable(g, eye(5), "v"), w = variable(g, eye(7), "w", {.kind = VariableKind::kResource});
  const std::vector<Value> fetches = {identity(x), c, identity(c), v.read, identity(v.read), w.read, identity(w.read)};
  TestSession session(g);
  ASSERT_TRUE(session.run_targets({v.initializer, w.initializer}).ok());
  const Tensor fed = eye(2);
  for (int n = 0; n < 3; ++n) {
    auto out = session.run({{x, fed}}, fetches);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    const float wanted[] = {2, 3, 3, 5, 5, 7, 7};
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_EQ(out->at(i).data<float>()[0], wanted[i]) << i;
      out->at(i).data<float>()[0] = -777;
    }
  }
  EXPECT_EQ(fed.data<float>()[0], 2);
}

// Constants are folded by the kernels that a step on a CPU runs.
TEST(Session, AConstantGivesTheBitsOfAFedValue) {
  Tensor values = Tensor::zeros(DType::kFloat32, {20, 50});
  for (int i = 0; i < 1000; ++i) values.data<float>()[i] = std::sin(0.1F * static_cast<float>(i * i));
  Graph g;
  const auto cpu = g.device("/cpu:0");
  const Value fed = placeholder(g, DType::kFloat32, {20, 50}, "x"), known = constant(g, values);
  std::vector<Value> fetches;
  std::vector<std::string> names;
  const auto both = [&](const char* name, const std::function<Value(Value)>& build) {
    names.emplace_back(name);
    fetches.push_back(build(known));
    fetches.push_back(build(fed));
  };
  both("MatMul", [&](Value x) { return g.add("MatMul", {x, x}, {{"transpose_b", true}}); });
  both("Sum", [&](Value x) { return g.add("Sum", {x, constant(g, Tensor::vector<std::int32_t>({0}))}); });
  for (const char* op : {"Tanh", "Sigmoid", "Exp", "Softmax", "Erf", "Rsqrt", "Sin"}) {
    both(op, [&](Value x) { return g.add(op, {x}); });
  }
  TestSession session(g);
  const auto out = session.run({{fed, values}}, fetches);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(std::memcmp(out->at(2 * i).raw(), out->at(2 * i + 1).raw(), out->at(2 * i).bytes()), 0) << names[i];
  }
}

// More inputs than 16 bits count.
TEST(Session, RunsOpsOfVeryManyInputs) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  std::vector<Value> terms(40000, x);
  const Value sum = g.add("AddN", std::move(terms));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  const auto out = session.run({{x, Tensor::scalar(0.5F)}}, {sum});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->at(0).data<float>()[0], 20000);
}

TEST(Session, SaysWhatIsWrongWithAFeed) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value y = identity(x);
  TestSession session(g);
  EXPECT_EQ(session.run({y}).status().id(), "ARG-FEED-001");
  EXPECT_EQ(session.run({{x, Tensor::zeros(DType::kInt32, {1, 2})}}, {y}).status().id(), "ARG-FEED-004");
  EXPECT_EQ(session.run({{x, Tensor::zeros(DType::kFloat32, {1, 3})}}, {y}).status().id(), "ARG-FEED-002");
  EXPECT_EQ(session.run({{x, eye(1)}, {x, eye(1)}}, {y}).status().id(), "ARG-FEED-003");
}

//  gpu:0: a·a ─┐
//              ├─► cpu: AddN      every hop copies between memories
//  gpu:1: b·b ─┘
TEST(Session, RunsOnSeveralDevices) {
  Graph g;
  std::vector<Value> powers;
  for (int d = 0; d < 2; ++d) {
    const auto on = g.device(str_cat("/gpu:", d));
    const Value a = constant(g, eye(static_cast<float>(d + 2)));
    powers.push_back(matmul(a, matmul(a, a)));
  }
  Value sum;
  {
    const auto on = g.device("/cpu:0");
    sum = matmul(powers[0], powers[1]);
  }
  TestSession session(g, {.devices = {.emulate = "2"}, .optimize = false});
  ASSERT_TRUE(session.status().ok()) << session.status().to_string();
  for (int i = 0; i < 100; ++i) {
    const auto out = session.run({sum});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).data<float>()[0], 8 * 27);
  }
  const auto report = session.placement({}, {sum}, {});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->summary(), testing::HasSubstr("GPU:1"));
}

TEST(Session, RefusesADeviceThatIsNotThere) {
  Graph g;
  Value x;
  {
    const auto on = g.device("/gpu:7");
    x = identity(constant(g, 1.0f));
  }
  TestSession strict(g, {.devices = {.emulate = "1"}, .allow_soft_placement = false});
  EXPECT_EQ(strict.run({x}).status().id(), "ARG-PLACE-001");
  TestSession soft(g, {.devices = {.emulate = "1"}});
  EXPECT_TRUE(soft.run({x}).ok());
}

// pred ──► Switch ──true──► x·x ──► Merge
//                 └─false─► x   ──┘
TEST(Session, TakesBranches) {
  Graph g;
  const Value pred = placeholder(g, DType::kBool, PartialShape::scalar(), "pred");
  const Value x = constant(g, eye(5));
  const Value sw = g.add("Switch", {x, pred});
  const Value squared = matmul(sw.output(1), sw.output(1));
  const Value merged = g.add("Merge", {identity(sw.output(0)), squared});
  for (const char* emulate : {"", "1"}) {
    TestSession session(g, {.devices = {.emulate = emulate}});
    EXPECT_EQ(session.run({{pred, Tensor::scalar(true)}}, {merged})->at(0).data<float>()[0], 25);
    EXPECT_EQ(session.run({{pred, Tensor::scalar(false)}}, {merged})->at(0).data<float>()[0], 5);
    EXPECT_EQ(session.run({{pred, Tensor::scalar(false)}}, {squared}).status().id(), "ARG-RUN-003");
  }
}

TEST(Session, ManyRunsAtOnce) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {2, 2}, "x");
  Value y = x;
  for (int i = 0; i < 10; ++i) {
    const auto on = g.device(str_cat("/gpu:", i % 2));
    y = matmul(y, constant(g, eye(i % 2 == 0 ? 2.0f : 0.5f)));
  }
  TestSession session(g, {.devices = {.emulate = "2"}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto out = session.run({{x, eye(static_cast<float>(t))}}, {y});
        ASSERT_TRUE(out.ok()) << out.status().to_string();
        EXPECT_EQ(out->at(0).data<float>()[0], static_cast<float>(t));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Session, StatisticsSayWhatOpsGave) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value y = matmul(x, constant(g, eye(3)), {}, "y");
  const Value pred = placeholder(g, DType::kBool, PartialShape::scalar(), "pred");
  const Value sw = g.add("Switch", {y, pred}, {}, "sw");
  const Value taken = tanh(sw.output(1));
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g);
  StepStats stats;
  stats.keep_ops = stats.keep_outputs = true;
  const Feeds feeds = {{x, Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})}, {pred, Tensor::scalar(true)}};
  const auto out = session.run(feeds, {y, taken}, {}, {.stats = &stats});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  std::map<std::string, OpRecord> ops;
  for (const OpRecord& op : stats.ops) ops.emplace(op.node, op);
  ASSERT_TRUE(ops.contains("y"));
  ASSERT_EQ(ops["y"].outputs.size(), 1u);
  const OutputRecord& product = ops["y"].outputs[0];
  EXPECT_EQ(product.shape, (Shape{3, 2}));
  EXPECT_EQ(product.dtype, DType::kFloat32);
  EXPECT_EQ(product.bytes, 24u);
  EXPECT_GE(product.buffer_bytes, 24u);
  EXPECT_EQ(product.allocator, "cpu");
  EXPECT_FALSE(product.shares);
  ASSERT_TRUE(ops.contains("sw"));
  ASSERT_EQ(ops["sw"].outputs.size(), 1u) << "the other one is dead";
  EXPECT_EQ(ops["sw"].outputs[0].index, 1);
  EXPECT_TRUE(ops["sw"].outputs[0].shares) << "it is y's memory";
  EXPECT_EQ(ops["sw"].outputs[0].address, product.address);
}

// An instruction that waits for three devices was said to have waited for the sum of their times.
TEST(Session, SharesOfADeviceFitIntoItsStep) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {256, 256}, "x");
  std::vector<Value> parts;
  for (int d = 0; d < 3; ++d) {
    const auto on = g.device(str_cat("/gpu:", d));
    Value y = x;
    for (int i = 0; i < 8; ++i) y = matmul(y, x);
    parts.push_back(y);
  }
  const auto on = g.device("/cpu:0");
  const Value sum = g.add("AddN", parts, {}, "sum");
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {.devices = {.emulate = "3"}});
  for (int run = 0; run < 3; ++run) {
    StepStats stats;
    const auto out = session.run({{x, Tensor::zeros(DType::kFloat32, {256, 256})}}, {sum}, {}, {.stats = &stats});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (const StepStats::PerDevice& d : stats.devices) {
      EXPECT_LE(d.compute_nanos + d.collective_nanos + d.copy_nanos, stats.end_nanos - stats.start_nanos)
          << d.device.to_string();
    }
  }
}

// A server's clients extend graphs while steps of other clients run.
TEST(Session, TheGraphGrowsWhileStepsRun) {
  Graph g;
  Value last = placeholder(g, DType::kFloat32, {2, 2}, "x");
  const Value x = last;
  TestSession session(g);
  const auto first = session.prepare({x}, {identity(x)});
  ASSERT_TRUE(first.ok());
  std::atomic<bool> stop{false};
  std::thread runner([&] {
    const Tensor fed = eye(3);
    while (!stop) {
      Tensor out;
      const Status status = (*first)->run({&fed, 1}, {&out, 1});
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
  });
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(session
                    .mutate_graph([&] {
                      last = matmul(last, x);
                      return g.status();
                    })
                    .ok());
    const auto out = session.run({{x, eye(1)}}, {last});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
  }
  stop = true;
  runner.join();
}

// A change of the graph takes long. Who waits for the graph meanwhile leaves when its own step ends.
TEST(Session, WhoWaitsForTheGraphEndsWithItsStep) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x");
  const Value y = tanh(x);
  TestSession session(g);
  std::promise<void> begun, may_end;
  std::thread slow([&] {
    const Status changed = session.mutate_graph([&] {
      begun.set_value();
      may_end.get_future().wait();
      return ok_status();
    });
    EXPECT_TRUE(changed.ok()) << changed.to_string();
  });
  begun.get_future().wait();
  Cancellation over;
  std::atomic<bool> called{false};
  auto waiting = std::async(std::launch::async, [&] {
    const InterruptScope interrupts(&over);
    const Status changed = session.mutate_graph([&] {
      called = true;
      return ok_status();
    });
    const auto prepared = session.prepare({x}, {y});
    return std::pair(changed.code(), prepared.status().code());
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << "nobody waits";
  over.cancel(deadline_exceeded("too late"));
  const bool left = waiting.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(left) << "they wait for the graph";
  may_end.set_value();
  slow.join();
  EXPECT_EQ(waiting.get(), std::pair(Code::kDeadlineExceeded, Code::kDeadlineExceeded));
  EXPECT_FALSE(called);
  EXPECT_TRUE(session.run({{x, eye(1)}}, {y}).ok());
}

TEST(Session, ACapIsHard) {
  Graph g;
  Value y;
  {
    const auto on = g.device("/gpu:0");
    y = placeholder(g, DType::kFloat32, {1024, 1024}, "x");
    for (int i = 0; i < 3; ++i) y = matmul(y, y);
  }
  TestSession session(g, {.devices = {.emulate = "gpu:6MiB"}});
  const auto out = session.run({{*g.value("x"), Tensor::zeros(DType::kFloat32, {1024, 1024})}}, {y});
  EXPECT_EQ(out.status().code(), Code::kResourceExhausted) << out.status().to_string();
  EXPECT_EQ(out.status().id(), "ARG-MEM-001");
}

TEST(Session, ACancelledRunLeavesItUsable) {
  Graph g;
  const Value y = identity(constant(g, 1.0f));
  TestSession session(g);
  Cancellation cancellation;
  cancellation.cancel(cancelled("changed my mind"));
  EXPECT_EQ(session.run({}, {y}, {}, {.cancellation = &cancellation}).status().code(), Code::kCancelled);
  EXPECT_TRUE(session.run({y}).ok());
  ASSERT_TRUE(session.close().ok());
  EXPECT_EQ(session.run({y}).status().code(), Code::kCancelled);
}

// while (i < limit) { x = x·m; i = i·step }  with i a 1x1 matrix, compared through a fed table
TEST(Session, LoopsUntilTheConditionFails) {
  Graph g;
  // Loop variables: a countdown kept as a boolean tape. tape is [n] bools; each iteration takes its front.
  const Value x0 = constant(g, eye(1));
  const Value go0 = placeholder(g, DType::kBool, PartialShape::scalar(), "go");
  const AttrMap frame = {{"frame_name", "loop"}};
  const AttrMap fixed = {{"frame_name", "loop"}, {"is_constant", true}};
  const Value x_in = g.add("Enter", {x0}, frame);
  const Value go_in = g.add("Enter", {go0}, frame);
  const Value m = g.add("Enter", {constant(g, eye(2))}, fixed);
  const Value x_merge = g.add("Merge", {x_in, x_in});
  const Value go_merge = g.add("Merge", {go_in, go_in});
  const Value cond = g.add("LoopCond", {go_merge});
  const Value x_switch = g.add("Switch", {x_merge, cond});
  const Value go_switch = g.add("Switch", {go_merge, cond});
  const Value next = matmul(x_switch.output(1), m);
  const Value x_next = g.add("NextIteration", {next});
  // One iteration only: the second time round the tape says false.
  const Value stop = with_dependencies({identity(go_switch.output(1))}, constant(g, false));
  const Value go_next = g.add("NextIteration", {stop});
  g.set_input(x_merge.node(), 1, x_next.endpoint());
  g.set_input(go_merge.node(), 1, go_next.endpoint());
  const Value out = g.add("Exit", {x_switch.output(0)});
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  for (const char* emulate : {"", "1"}) {
    TestSession session(g, {.devices = {.emulate = emulate}});
    const auto once = session.run({{go0, Tensor::scalar(true)}}, {out});
    ASSERT_TRUE(once.ok()) << once.status().to_string();
    EXPECT_EQ(once->at(0).data<float>()[0], 2);
    EXPECT_EQ(session.run({{go0, Tensor::scalar(false)}}, {out})->at(0).data<float>()[0], 1);
  }
}

// As TensorFlow's: a session keeps where random numbers go on, whatever is run and in whatever shapes.
TEST(Session, RandomNumbersGoOn) {
  Graph g;
  const Value rows = placeholder(g, DType::kInt32, {1}, "rows");
  const Value numbers =
      g.add("RandomUniform", {rows}, {{"dtype", DType::kFloat32}, {"seed", 3}, {"seed2", 4}}, "numbers");
  const Value twice = numbers * 2.0f;
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  const auto draw = [&](TestSession& session, std::int32_t n, const Value& what) {
    auto drawn = session.run({{rows, Tensor::vector<std::int32_t>({n})}}, {what});
    EXPECT_TRUE(drawn.ok()) << drawn.status().to_string();
    return drawn.ok() ? *drawn->at(0).data<float>() : -1.0f;
  };
  TestSession one(g, {.devices = {.devices = "cpu:0"}});
  std::vector<float> all;
  for (int i = 0; i < 3; ++i) all.push_back(draw(one, 4, numbers));
  EXPECT_NE(all[0], all[1]);
  TestSession other(g, {.devices = {.devices = "cpu:0"}});
  EXPECT_EQ(draw(other, 4, twice), 2 * all[0]);  // a stream of its own
  EXPECT_EQ(draw(other, 4, numbers), all[1]);
  TestSession sharing(g, {.devices = {.devices = "cpu:0"}, .share_op_state_with = &other});
  EXPECT_EQ(draw(sharing, 4, numbers), all[2]);
  EXPECT_NE(draw(one, 3, numbers), all[0]);
  EXPECT_NE(draw(one, 4, numbers), draw(one, 3, numbers));
}

TEST(Session, OpsThatCountGoOnInEveryStep) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1}, "x");
  const Value told = g.add("Print", {x, x}, {{"message", "seen "}, {"first_n", 2}});
  const Value twice = told * 2.0f;
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  TestSession session(g, {.devices = {.devices = "cpu:0"}});
  testing::internal::CaptureStderr();
  for (const std::int64_t n : {1, 2, 3}) {
    EXPECT_TRUE(session.run({{x, Tensor::zeros(DType::kFloat32, {n})}}, {told}).ok());
    EXPECT_TRUE(session.run({{x, Tensor::zeros(DType::kFloat32, {n})}}, {twice}).ok());
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

}  // namespace
}  // namespace argosy
