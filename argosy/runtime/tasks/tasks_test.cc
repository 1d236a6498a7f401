// Steps over several tasks: the same values as on one, and one cause when something fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/fake_cluster.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

float number(const Tensor& t) { return t.data<float>()[0]; }

struct TwoTasks : testing::Test {
  FakeCluster cluster{{{.job = "worker"}, {.job = "ps"}}};
  Graph g;
  Value on_ps(const std::function<Value()>& build) {
    const auto scope = g.device("/job:ps/task:0");
    return build();
  }
  Value on_worker(const std::function<Value()>& build) {
    const auto scope = g.device("/job:worker/task:0");
    return build();
  }
};

TEST_F(TwoTasks, ValuesGoThereAndBack) {
  const Value x = placeholder(g, DType::kFloat32, {});
  const Value y = on_ps([&] { return neg(x); });
  const Value z = on_worker([&] { return y + y; });
  Session session(g, cluster.options());
  for (const float at : {1.0f, -3.0f}) {
    const auto out = session.run({{x, Tensor::scalar(at)}}, {z, y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(number((*out)[0]), -2 * at);
    EXPECT_EQ(number((*out)[1]), -at);
  }
  EXPECT_EQ(cluster.registrations(), 1) << "once a signature";
  EXPECT_EQ(cluster.receives(), 2) << "one transfer a run, for both readers";
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

TEST_F(TwoTasks, ReportsWhereAllNodesRun) {
  const Value x = on_ps([&] { return neg(constant(g, 2.0f)); });
  const Value y = on_worker([&] { return abs(x); });
  auto options = cluster.options();
  options.optimize = false;
  Session session(g, options);
  const auto report = session.placement({}, {y}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::map<std::string, std::string> device;
  for (const auto& row : report->rows) device[row.node] = row.device;
  EXPECT_EQ(device[x.name().substr(0, x.name().find(':'))], "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(device[y.name().substr(0, y.name().find(':'))], "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_NE(report->summary().find("partition: 2 tasks, 1 values"), std::string::npos) << report->summary();
}

// --- state -----------------------------------------------------------------------------------------------------------

TEST_F(TwoTasks, VariablesLiveOnTheirTask) {
  for (const auto kind : {VariableKind::kReference, VariableKind::kResource}) {
    Graph graph;
    const auto variable_on_ps = [&] {
      const auto there = graph.device("/job:ps/task:0");
      return variable(graph, Tensor::scalar(1.0f), "w",
                      {.kind = kind, .shared_name = str_cat("w", static_cast<int>(kind))});
    };
    const VariableNode w = variable_on_ps();
    const Value x = placeholder(graph, DType::kFloat32, {});
    const Value update = assign_add(w, x * constant(graph, 2.0f));  // the product on the worker
    Session session(graph, cluster.options());
    ASSERT_TRUE(session.run_targets({w.initializer}).ok());
    for (int i = 1; i <= 3; ++i) {
      const auto out = session.run({{x, Tensor::scalar(1.0f)}}, {}, {update.control()});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      const auto read = session.run({w.read});
      ASSERT_TRUE(read.ok()) << read.status().to_string();
      EXPECT_EQ(number((*read)[0]), 1.0f + 2.0f * static_cast<float>(i));
      const auto itself = session.run({w.ref});
      ASSERT_TRUE(itself.ok()) << itself.status().to_string();
      EXPECT_EQ(number((*itself)[0]), 1.0f + 2.0f * static_cast<float>(i)) << "a fetched variable is its value";
    }
  }
}

// Between-graph replication: each worker is the master of its own steps.
TEST(Masters, ShareAParameterServer) {
  FakeCluster cluster({{.job = "worker"}, {.job = "worker", .task = 1}, {.job = "ps"}});
  constexpr int kSteps = 50;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  const auto build = [](Graph& g, VariableNode& w) {
    const auto on = g.device("/job:ps/task:0");
    w = variable(g, Tensor::scalar(0.0f), "w", {.kind = VariableKind::kResource, .shared_name = "w"});
  };
  {
    Graph g;
    VariableNode w;
    build(g, w);
    Session chief(g, cluster.options(0));
    ASSERT_TRUE(chief.run_targets({w.initializer}).ok());
  }
  for (std::size_t worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      Graph g;
      VariableNode w;
      build(g, w);
      const Value update = assign_add(w, constant(g, 1.0f) + placeholder(g, DType::kFloat32, {}, "x"));
      Session session(g, cluster.options(worker));
      for (int i = 0; i < kSteps; ++i) {
        const auto out = session.run({{*g.value("x"), Tensor::scalar(0.0f)}}, {}, {update.control()});
        if (!out.ok()) ++failed;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed, 0);
  Graph g;
  VariableNode w;
  build(g, w);
  Session session(g, cluster.options(1));
  const auto out = session.run({w.read});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(number((*out)[0]), 2.0f * kSteps) << "every update is applied once";
}

// A name means one thing in all steps of a session.
TEST_F(TwoTasks, ASecondStepFindsTheVariableWhereTheFirstPutIt) {
  const auto kind = VariableKind::kResource;
  const auto there =
      on_ps([&] { return variable(g, Tensor::scalar(7.0f), "w", {.kind = kind, .shared_name = "w"}).initializer; });
  const Value here = variable(g, {}, DType::kFloat32, "again", {.kind = kind, .shared_name = "w"}).read;
  Session session(g, cluster.options());
  ASSERT_TRUE(session.run_targets({there}).ok());
  const auto out = session.run({here});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(number((*out)[0]), 7.0f);
}

// --- placement -------------------------------------------------------------------------------------------------------

std::string device_of(Session& session, const Value& v) {
  const auto report = session.placement({}, {v}, {});
  if (!report.ok()) return report.status().to_string();
  for (const auto& row : report->rows) {
    if (row.node == std::string(v.node_name())) return row.device;
  }
  return "nowhere";
}

TEST(Placement, PrefersTheOwnTask) {
  FakeCluster cluster({{.job = "worker", .task = 1}, {.job = "worker", .gpus = 1}, {.job = "ps"}});
  Graph g;
  const auto on = [&](const char* device) {
    const auto scope = g.device(device);
    return g.add("Tanh", {placeholder(g, DType::kFloat32, {}, "x")});
  };
  const Value open = on(""), ps = on("/job:ps"), gpu = on("/gpu:0"), any_task = on("/job:worker"),
              soft = on("/job:ps/task:0/gpu:3"), nowhere = on("/job:ps/task:4");
  auto options = cluster.options(0);
  options.optimize = false;
  Session session(g, options);
  EXPECT_EQ(device_of(session, open), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(device_of(session, ps), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(device_of(session, gpu), "/job:worker/replica:0/task:0/device:GPU:0") << "the only one there is";
  EXPECT_EQ(device_of(session, any_task), "/job:worker/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(device_of(session, soft), "/job:ps/replica:0/task:0/device:CPU:0") << "softly, on that task";
  const auto none = session.placement({}, {nowhere}, {});
  EXPECT_EQ(none.status().id(), "ARG-PLACE-001");
  EXPECT_THAT(none.status().to_string(), testing::HasSubstr("/job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_THAT(none.status().hint(), testing::HasSubstr("task of the cluster"));
  options.allow_soft_placement = false;
  Session hard(g, options);
  EXPECT_EQ(hard.placement({}, {soft}, {}).status().id(), "ARG-PLACE-001");
}

TEST_F(TwoTasks, AStepOnOneTaskAsksNobody) {
  const Value y = on_worker([&] { return neg(placeholder(g, DType::kFloat32, {}, "x")); });
  on_ps([&] { return neg(constant(g, 1.0f)); });
  Session session(g, cluster.options());
  const auto out = session.run({{*g.value("x"), Tensor::scalar(2.0f)}}, {y});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(number((*out)[0]), -2.0f);
  EXPECT_EQ(cluster.registrations(), 0);
  EXPECT_EQ(cluster.receives(), 0);
}

// What a worker does beside a parameter server runs in its static schedule: all that it sends comes after all that it
// receives. Large values cross in messages of their own.
TEST_F(TwoTasks, OrdersThatAreSafeAreStatic) {
  const auto numbers = [&](std::vector<std::int64_t> v) { return constant(g, Tensor::vector<std::int64_t>(v)); };
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const Value w1 = on_ps([&] { return g.add("BroadcastTo", {neg(x), numbers({20'000})}); });
  const Value w2 = on_ps([&] { return abs(x); });
  const auto first = [&](Value v) {
    return g.add("Reshape", {g.add("Slice", {v, numbers({0}), numbers({1})}), numbers({})});
  };
  const Value gradient = on_worker([&] { return first(w1) * w2; });
  const Value update = on_ps([&] { return g.add("Tanh", {gradient}); });
  const Value other = on_ps([&] { return first(g.add("Exp", {on_worker([&] { return g.add("Sin", {w1}); })})); });
  Session session(g, cluster.options());
  const auto safe = session.placement({{x, Shape()}}, {update}, {});
  ASSERT_TRUE(safe.ok()) << safe.status().to_string();
  EXPECT_THAT(safe->summary(), testing::HasSubstr("order: static"));
  // The second receive may have to wait for the first send.
  const auto unsafe = session.placement({{x, Shape()}}, {update, other}, {});
  ASSERT_TRUE(unsafe.ok()) << unsafe.status().to_string();
  EXPECT_THAT(unsafe->summary(), testing::HasSubstr("may release what"));
  const auto out = session.run({{x, Tensor::scalar(0.5f)}}, {update, other});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_FLOAT_EQ(number((*out)[0]), std::tanh(-0.25f));
  EXPECT_FLOAT_EQ(number((*out)[1]), std::exp(std::sin(-0.5f)));
}

// --- errors ----------------------------------------------------------------------------------------------------------

struct Failing : TwoTasks {
  // Waits for ever, on ps: nobody puts anything into the queue.
  Value waits_on_ps() {
    return on_ps([&] {
      return dequeue(fifo_queue(g, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape::scalar()}}),
                     {DType::kFloat32})[0];
    });
  }
  Value aborts(const Value& after, const char* message) {
    const auto wait = g.control_dependencies({after.control()});
    return g.add("Abort", {}, {{"error_msg", message}});
  }
  // The session goes on.
  void expect_usable(Session& session) {
    const Value y = on_ps([&] { return neg(constant(g, 1.0f)); });
    const Value z = on_worker([&] { return neg(y); });
    const auto out = session.run({z});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(number((*out)[0]), 1.0f);
    EXPECT_EQ(cluster.steps_under_way(), 0u);
  }
};

TEST_F(Failing, AnErrorOnTheOtherTaskIsTheSteps) {
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const Value bad = on_ps([&] { return aborts(neg(x), "bomb on ps"); });
  const Value waits = waits_on_ps();
  const Value y = on_worker([&] { return neg(waits); });
  Session session(g, cluster.options());
  const auto out = session.run({{x, Tensor::scalar(1.0f)}}, {y}, {bad});
  EXPECT_THAT(out.status().message(), testing::HasSubstr("bomb on ps"));
  EXPECT_THAT(out.status().where(), testing::HasSubstr("/job:ps/replica:0/task:0"));
  expect_usable(session);
}

TEST_F(Failing, AnErrorHereEndsTheOtherTask) {
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const Value bad = on_worker([&] { return aborts(neg(x), "bomb here"); });
  const Value y = waits_on_ps();
  Session session(g, cluster.options());
  const auto out = session.run({{x, Tensor::scalar(1.0f)}}, {y}, {bad});
  EXPECT_THAT(out.status().message(), testing::HasSubstr("bomb here"));
  EXPECT_THAT(out.status().where(), testing::HasSubstr("/job:worker/replica:0/task:0"));
  expect_usable(session);
}

// Whoever hears of it first, and though others end with errors of their own because of it.
TEST(Causes, AreToldOfThreeTasks) {
  FakeCluster cluster({{.job = "a"}, {.job = "b"}, {.job = "c"}});
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const auto on = [&](const char* job, const auto& build) {
    const auto scope = g.device(str_cat("/job:", job));
    return build();
  };
  const Value first = on("b", [&] { return neg(x); });
  const Value bad = on("c", [&] {
    const auto wait = g.control_dependencies({first.control()});
    return g.add("Abort", {}, {{"error_msg", "the cause"}});
  });
  const Value after = on("c", [&] { return with_dependencies({bad}, x); });
  const Value b = on("b", [&] { return neg(after); });
  const Value a = on("a", [&] { return neg(b); });
  Session session(g, cluster.options(0));
  for (int i = 0; i < 50; ++i) {
    const auto out = session.run({{x, Tensor::scalar(1.0f)}}, {a, b});
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(out.status().to_string(), testing::HasSubstr("the cause"));
    EXPECT_THAT(out.status().to_string(), testing::Not(testing::HasSubstr("Derived")));
    EXPECT_THAT(out.status().where(), testing::HasSubstr("'Abort' (Abort) on /job:c"));
  }
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

TEST_F(Failing, CancellationAndDeadlineEndAllTasks) {
  const Value y = on_worker([&] { return neg(waits_on_ps()); });
  Session session(g, cluster.options());
  EXPECT_EQ(session.run({}, {y}, {}, {.timeout = std::chrono::milliseconds(50)}).status().code(),
            Code::kDeadlineExceeded);
  Cancellation cancellation;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cancellation.cancel(cancelled("enough"));
  });
  EXPECT_EQ(session.run({}, {y}, {}, {.cancellation = &cancellation}).status().message(), "enough");
  canceller.join();
  expect_usable(session);
}

TEST_F(Failing, ClosingTheSessionEndsItsSteps) {
  const Value y = on_worker([&] { return neg(waits_on_ps()); });
  Session session(g, cluster.options());
  std::thread closer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(session.close().ok());
  });
  EXPECT_EQ(session.run({y}).status().id(), "ARG-RUN-002");
  closer.join();
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

TEST_F(Failing, ALostTaskIsNamed) {
  const Value y = on_worker([&] { return neg(waits_on_ps()); });
  Session session(g, cluster.options());
  std::thread loses([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cluster.lose(1);
  });
  const auto during = session.run({y});
  loses.join();
  EXPECT_EQ(during.status().code(), Code::kUnavailable) << during.status().to_string();
  EXPECT_THAT(during.status().message(), testing::HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_EQ(session.run({y}).status().code(), Code::kUnavailable);
}

TEST_F(Failing, AGraphThatDoesNotCompileThereIsAnError) {
  const Value bad = on_ps([&] {
    return g.add("PyFunc", {}, {{"token", "none"}, {"Tout", std::vector{DType::kFloat32}}});
  });
  const Value y = on_worker([&] { return neg(bad); });
  Session session(g, cluster.options());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(session.run({y}).status().id(), "ARG-CALL-001");
  expect_usable(session);
}

// A loop variable that is dead from the second iteration on: it is sent as dead in all of them.
TEST_F(TwoTasks, NobodyWaitsForADeadLoopVariable) {
  const Value never = constant(g, Tensor::scalar(false));
  const Value start = placeholder(g, DType::kFloat32, {}, "x");
  const DataflowLoop l(g, start, [&](const Value& v) { return switch_value(v, DataflowLoop::enter(g, never)).second; });
  const auto scope = g.device("/job:ps");
  const Value elsewhere = neg(l.merged);
  Session session(g, cluster.options());
  for (int i = 0; i < 20; ++i) {
    const auto out =
        session.run({{start, Tensor::scalar(1.0f)}}, {}, {elsewhere.control()}, {.timeout = std::chrono::seconds(20)});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
  }
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

TEST_F(TwoTasks, ManyRunsAtOnce) {
  const Value x = placeholder(g, DType::kFloat32, {}, "x");
  const Value y = on_ps([&] { return neg(x); });
  const Value z = on_worker([&] { return y * x; });
  Session session(g, cluster.options());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto at = static_cast<float>(t * 100 + i);
        const auto out = session.run({{x, Tensor::scalar(at)}}, {z});
        if (!out.ok() || number((*out)[0]) != -at * at) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cluster.registrations(), 1);
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

// A value that is fed for a node of another task.
TEST_F(TwoTasks, AnyValueMayBeFed) {
  const Value a = on_ps([&] { return neg(constant(g, 1.0f)); });
  const Value b = on_ps([&] { return abs(a); });
  const Value c = on_worker([&] { return a + b; });
  Session session(g, cluster.options());
  const auto out = session.run({{a, Tensor::scalar(-4.0f)}}, {c, a});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(number((*out)[0]), 0.0f);
  EXPECT_EQ(number((*out)[1]), -4.0f);
}

}  // namespace
}  // namespace argosy
