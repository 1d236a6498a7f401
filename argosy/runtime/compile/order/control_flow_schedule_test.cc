// Steps with control flow that run in a static schedule: which do, what they compute, and what they cost.
#include "argosy/runtime/compile/order/control_flow_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

std::string order_of(Session& session, const std::vector<std::pair<Value, Shape>>& feeds,
                     const std::vector<Value>& fetches, const std::vector<Value>& targets = {}) {
  const auto report = session.placement(feeds, fetches, targets);
  if (!report.ok()) return report.status().to_string();
  for (const std::string& note : report->passes) {
    if (note.starts_with("order:")) return note;
  }
  return "";
}

class ControlFlowScheduleTest : public testing::Test {
 protected:
  Value integer(std::int32_t v) { return constant(graph, v); }
  Value count() { return placeholder(graph, DType::kInt32, PartialShape::scalar(), "n"); }
  Value real(const char* name, PartialShape shape = PartialShape::scalar()) {
    return placeholder(graph, DType::kFloat32, std::move(shape), name);
  }
  template <typename T>
  T run(Session& session, const Feeds& feeds, Value fetch) {
    const auto out = session.run(feeds, {fetch});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out->at(0).data<T>() : T();
  }
  Graph graph;
};

TEST_F(ControlFlowScheduleTest, WhatFollowsACondIsPlain) {
  const Value p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
  const Value x = real("x");
  Value y = cond_value(
      p, [&] { return exp(x); },
      [&] {
        return cond_value(
            greater(x, 0), [&] { return x * 2; }, [&] { return x * 3; });
      });
  const std::vector<std::pair<Value, Shape>> shapes = {{p, {}}, {x, {}}};
  std::string before, after;
  {
    Session session(graph, {.optimize = false});
    before = order_of(session, shapes, {y});
  }
  for (int i = 0; i < 50; ++i) y = graph.add("AddV2", {y, x});
  Session session(graph, {.optimize = false});
  after = order_of(session, shapes, {y});
  EXPECT_THAT(before, HasSubstr("order: static; 0 loops"));
  EXPECT_EQ(before.substr(0, before.find(" of ")), after.substr(0, after.find(" of "))) << "as many may be passed over";
  for (const auto& [taken, at, expected] :
       {std::tuple{true, 0.0F, 1.0F}, {false, 1.0F, 2.0F + 50}, {false, -1.0F, -3.0F - 50}}) {
    EXPECT_FLOAT_EQ(run<float>(session, {{p, Tensor::scalar(taken)}, {x, Tensor::scalar(at)}}, y), expected);
  }
}

TEST_F(ControlFlowScheduleTest, LoopsRunAsOftenAsTheyShould) {
  const Value n = count();
  const auto last = while_loop(
      {integer(0), integer(0)}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] + v[0]};
      });
  Session session(graph);
  EXPECT_THAT(order_of(session, {{n, {}}}, {last[1]}), HasSubstr("order: static; 1 loops"));
  for (const std::int32_t iterations : {5, 0, 1, 2, 1000, 0}) {
    EXPECT_EQ(run<std::int32_t>(session, {{n, Tensor::scalar(iterations)}}, last[1]), iterations * (iterations - 1) / 2)
        << iterations;
  }
}

// for i < n: for j < i: s += i · j, and what the inner loop reads from around both.
TEST_F(ControlFlowScheduleTest, LoopsInLoops) {
  const Value n = count();
  const Value k = placeholder(graph, DType::kInt32, PartialShape::scalar(), "k");
  const auto last = while_loop(
      {integer(0), integer(0)}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        const auto inner = while_loop(
            {integer(0), v[1]}, [&](const auto& w) { return less(w[0], v[0]); },
            [&](const auto& w) {
              return std::vector<Value>{w[0] + 1, w[1] + v[0] * w[0] + k};
            });
        return std::vector<Value>{v[0] + 1, inner[1]};
      });
  Session session(graph);
  EXPECT_THAT(order_of(session, {{n, {}}, {k, {}}}, {last[1]}), HasSubstr("order: static; 2 loops"));
  for (const std::int32_t iterations : {7, 0, 1, 2, 3}) {
    std::int32_t expected = 0;
    for (std::int32_t i = 0; i < iterations; ++i) {
      for (std::int32_t j = 0; j < i; ++j) expected += i * j + 5;
    }
    const Feeds feeds = {{n, Tensor::scalar(iterations)}, {k, Tensor::scalar(5)}};
    EXPECT_EQ(run<std::int32_t>(session, feeds, last[1]), expected) << iterations;
  }
}

// (a, b, c) -> (b, c, A·a): a loop-carried value is read an iteration and two later, while new values are made.
TEST_F(ControlFlowScheduleTest, LoopCarriedValuesAreNotOverwritten) {
  const Value n = count();
  const Value m = real("m", {3, 3});
  std::vector<Value> start = {integer(0)};
  for (const char* name : {"a", "b", "c"}) start.push_back(real(name, {3, 3}));
  const auto last = while_loop(
      start, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[2], v[3], matmul(m, exp(v[1] * 0.1))};
      });
  const Value sum = last[1] + 10 * last[2] + 100 * last[3];
  Session session(graph);
  const Shape square = {3, 3};
  EXPECT_THAT(
      order_of(session, {{n, {}}, {m, square}, {start[1], square}, {start[2], square}, {start[3], square}}, {sum}),
      HasSubstr("order: static; 1 loops"));
  using Matrix = std::vector<float>;
  const auto times = [](const Matrix& a, const Matrix& b) {
    Matrix c(9, 0);
    for (int i = 0; i < 27; ++i) c[i / 9 * 3 + i % 3] += a[i / 9 * 3 + i / 3 % 3] * b[i / 3 % 3 * 3 + i % 3];
    return c;
  };
  const auto filled = [](float from) {
    Matrix a(9);
    for (int i = 0; i < 9; ++i) a[i] = from + 0.1F * static_cast<float>(i);
    return a;
  };
  const auto tensor = [&](const Matrix& a) { return Tensor::of<float>(square, std::span<const float>(a)); };
  for (const std::int32_t iterations : {0, 1, 2, 3, 4, 11}) {
    Matrix a = filled(0.1F), b = filled(-0.3F), c = filled(0.5F);
    const Matrix by = filled(-0.2F);
    const Feeds feeds = {{n, Tensor::scalar(iterations)},
                         {m, tensor(by)},
                         {start[1], tensor(a)},
                         {start[2], tensor(b)},
                         {start[3], tensor(c)}};
    for (int i = 0; i < iterations; ++i) {
      for (float& x : a) x = std::exp(x * 0.1F);
      a = std::exchange(b, std::exchange(c, times(by, a)));
    }
    const auto out = session.run(feeds, {sum});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (int i = 0; i < 9; ++i) {
      EXPECT_NEAR(out->at(0).data<float>()[i], a[i] + 10 * b[i] + 100 * c[i], 1e-3)
          << iterations << " iterations, element " << i;
    }
  }
}

// A branch taken now and then inside a loop: what it leaves alone is carried as it was.
TEST_F(ControlFlowScheduleTest, BranchesInLoops) {
  const Value n = count();
  const Value x = real("x", {64});
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        const Value even = equal(graph.add("FloorMod", {v[0], integer(2)}), integer(0));
        return std::vector<Value>{v[0] + 1, cond_value(
                                                even, [&] { return v[1] + x; }, [&] { return v[1]; })};
      });
  Session session(graph);
  EXPECT_THAT(order_of(session, {{n, {}}, {x, {64}}}, {last[1]}), HasSubstr("order: static; 1 loops"));
  const Tensor ones = Tensor::of<float>({64}, std::span<const float>(std::vector<float>(64, 1)));
  for (const std::int32_t iterations : {0, 1, 2, 9}) {
    const auto out = session.run({{n, Tensor::scalar(iterations)}, {x, ones}}, {last[1]});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).data<float>()[63], static_cast<float>(1 + (iterations + 1) / 2)) << iterations;
  }
  EXPECT_EQ(*ones.data<float>(), 1) << "what was fed is the caller's";
}

// A branch not taken is not entered: neither its loop nor its variable without a value.
TEST_F(ControlFlowScheduleTest, LoopsInBranches) {
  const Value p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
  const Value n = count();
  const VariableNode v = variable(graph, Tensor::scalar(std::int32_t{3}), "v", {.kind = VariableKind::kResource});
  const Value y = cond_value(
      p,
      [&] {
        return while_loop(
            {integer(0), graph.add("ReadVariableOp", {v.ref}, {{"dtype", DType::kInt32}})},
            [&](const auto& w) { return less(w[0], n); },
            [&](const auto& w) {
              return std::vector<Value>{w[0] + 1, w[1] * 2};
            })[1];
      },
      [&] { return n; });
  const Value z = y + 1;
  Session session(graph);
  EXPECT_THAT(order_of(session, {{p, {}}, {n, {}}}, {z}), HasSubstr("order: static; 1 loops"));
  const auto at = [&](bool taken, std::int32_t iterations) {
    return run<std::int32_t>(session, {{p, Tensor::scalar(taken)}, {n, Tensor::scalar(iterations)}}, z);
  };
  EXPECT_EQ(at(false, 6), 7);
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  EXPECT_EQ(at(true, 4), 49);
  EXPECT_EQ(at(false, 6), 7);
  EXPECT_EQ(at(true, 0), 4);
}

TEST_F(ControlFlowScheduleTest, ADeadFetchSaysSo) {
  const Value p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
  const Value x = real("x");
  const Value sw = graph.add("Switch", {x, p});
  const Value y = graph.add("Neg", {sw.output(1)});
  Session session(graph);
  EXPECT_EQ(run<float>(session, {{p, Tensor::scalar(true)}, {x, Tensor::scalar(2.0F)}}, y), -2);
  const auto out = session.run({{p, Tensor::scalar(false)}, {x, Tensor::scalar(2.0F)}}, {y});
  EXPECT_EQ(out.status().id(), "ARG-RUN-003") << out.status().to_string();
}

// Loops over several devices, and loops that no one predicate ends, run by dataflow rules.
TEST_F(ControlFlowScheduleTest, SomeLoopsHaveNoOrder) {
  const Value n = count();
  const auto last = while_loop(
      {integer(0), real("x")}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        const auto there = graph.device("/gpu:1");
        return std::vector<Value>{v[0] + 1, v[1] * 2};
      });
  Session session(graph, {.devices = {.emulate = "2"}});
  EXPECT_THAT(order_of(session, {{n, {}}, {*graph.value("x"), {}}}, {last[1]}), HasSubstr("spans devices"));
  EXPECT_EQ(run<float>(session, {{n, Tensor::scalar(5)}, {*graph.value("x"), Tensor::scalar(1.0F)}}, last[1]), 32);
}

// On a GPU beside other work of other devices, which waits for the loop's end and not for its first iteration.
TEST_F(ControlFlowScheduleTest, LoopsOnADeviceOfTheirOwn) {
  const Value n = count();
  const Value x = real("x", {1000});
  Value looped, y;
  {
    const auto on = graph.device("/gpu:0");
    looped = while_loop(
        {integer(0), x}, [&](const auto& v) { return less(v[0], n); },
        [&](const auto& v) {
          return std::vector<Value>{v[0] + 1, v[1] * 2};
        })[1];
  }
  {
    const auto on = graph.device("/gpu:1");
    y = looped + x;
  }
  Session session(graph, {.devices = {.emulate = "2"}});
  EXPECT_THAT(order_of(session, {{n, {}}, {x, {1000}}}, {y}), HasSubstr("order: static; 1 loops"));
  const Tensor ones = Tensor::of<float>({1000}, std::span<const float>(std::vector<float>(1000, 1)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (const std::int32_t iterations : {0, 3, 10, 1}) {
        const auto out = session.run({{n, Tensor::scalar(iterations)}, {x, ones}}, {y});
        ASSERT_TRUE(out.ok()) << out.status().to_string();
        EXPECT_EQ(out->at(0).data<float>()[999], static_cast<float>(1 + (1 << iterations)));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_F(ControlFlowScheduleTest, EndlessLoopsAreCancelled) {
  const Value x = real("x");
  const auto last = while_loop(
      {x}, [&](const auto& v) { return greater(v[0], 0); },
      [&](const auto& v) { return std::vector<Value>{identity(v[0])}; });
  Session session(graph);
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancellation.cancel(cancelled("enough"));
  });
  const auto out = session.run({{x, Tensor::scalar(1.0F)}}, {last[0]}, {}, {.cancellation = &cancellation});
  canceller.join();
  EXPECT_EQ(out.status().code(), Code::kCancelled) << out.status().to_string();
  EXPECT_EQ(run<float>(session, {{x, Tensor::scalar(-1.0F)}}, last[0]), -1);
}

// A loop-carried value that is read no more is overwritten by what follows from it.
TEST_F(ControlFlowScheduleTest, CountersChangeInPlace) {
  const Value n = count();
  const Value x = real("x", {100});
  const auto last = while_loop(
      {integer(0), x}, [&](const auto& v) { return less(v[0], n); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * 2};
      });
  Session session(graph, {.optimize = false});
  const auto allocations = [&](std::int32_t iterations) {
    const Feeds feeds = {{n, Tensor::scalar(iterations)}, {x, Tensor::zeros(DType::kFloat32, {100})}};
    EXPECT_TRUE(session.run(feeds, {last[1]}).ok());
    const auto before = session.device_set().device(0).allocator().stats().allocations;
    EXPECT_TRUE(session.run(feeds, {last[1]}).ok());
    return session.device_set().device(0).allocator().stats().allocations - before;
  };
  EXPECT_EQ(allocations(10), allocations(1000));
}

// A network with a branch in a corner takes about the memory that it takes without.
TEST_F(ControlFlowScheduleTest, ACondCostsTheRestNoMemory) {
  const Shape big = {256, 1024};
  const Value x = real("x", {256, 1024});
  const Value p = placeholder(graph, DType::kBool, PartialShape::scalar(), "p");
  const auto net = [&](bool branches) {
    Value y = x;
    for (int i = 0; i < 12; ++i) {
      y = tanh(y * 1.5) + 0.1;
      if (branches) {
        y = cond_value(
            p, [&] { return exp(y); }, [&] { return sin(y); });
      } else {
        y = exp(y);
      }
    }
    return graph.add("Sum", {y, constant(graph, std::int32_t{0})});
  };
  const Value plain = net(false), branched = net(true);
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  Session session(graph, {.optimize = false});
  const auto without = session.forecast({{x, big}}, {plain}, {});
  const auto with = session.forecast({{x, big}, {p, {}}}, {branched}, {});
  ASSERT_TRUE(without.ok() && with.ok()) << with.status().to_string();
  EXPECT_TRUE(with->at(0).exact);
  const std::uint64_t one = 256 * 1024 * sizeof(float);
  EXPECT_LE(with->at(0).arena_bytes, without->at(0).arena_bytes + 2 * one);
  EXPECT_GE(with->at(0).arena_bytes, one);
}

}  // namespace
}  // namespace argosy
