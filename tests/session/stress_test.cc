// Random graphs over eight devices, with branches and loops, with nodes that fail and runs that are cancelled: every
// run ends, tells the truth, and leaves the session usable. The expected value of every node is computed while the
// graph is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

struct RandomGraph {
  Graph graph;
  Value x, pred, last, bomb;
  std::vector<Value> values;
  std::vector<float> when_true, when_false;  // what each value is, by the fed predicate; x is 1

  RandomGraph(int nodes, int devices, bool branches, std::uint32_t seed) : random_(seed) {
    x = placeholder(graph, DType::kFloat32, PartialShape::scalar(), "x");
    pred = placeholder(graph, DType::kBool, PartialShape::scalar(), "pred");
    add(x, 1, 1);
    while (graph.size() < nodes) {
      const auto on = graph.device(str_cat("/gpu:", pick(devices)));
      const std::size_t a = near(), b = near();
      if (branches && pick(12) == 0) {
        branch(a, b);
      } else if (branches && pick(40) == 0) {
        loop(a, b);
      } else {
        average(a, b);
      }
    }
    last = values.back();
    // Fails when it runs; everything after it never does.
    const auto on = graph.device("/gpu:1");
    bomb =
        graph.add("AddV2", {graph.add("Abort", {values[values.size() / 2].control()}, {{"error_msg", "bomb"}}).valid()
                                ? with_dependencies({graph.value("Abort").value()}, last)
                                : last,
                            x});
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  // Mostly a recent value, so that the graph is deep as well as wide.
  std::size_t near() {
    const auto n = static_cast<int>(values.size());
    return static_cast<std::size_t>(pick(4) == 0 ? pick(n) : n - 1 - pick(std::min(n, 8)));
  }
  void add(Value v, float t, float f) {
    values.push_back(v);
    when_true.push_back(t);
    when_false.push_back(f);
  }
  void average(std::size_t a, std::size_t b) {
    const Value sum = graph.add("AddV2", {values[a], values[b]});
    add(graph.add("Mul", {sum, constant(graph, 0.5f)}), (when_true[a] + when_true[b]) * 0.5f,
        (when_false[a] + when_false[b]) * 0.5f);
  }
  //  a ─► Switch(pred) ─true─► -a ──┐
  //  b ─► Switch(pred) ─false─► b ──┴─► Merge
  void branch(std::size_t a, std::size_t b) {
    const Value taken = graph.add("Neg", {graph.add("Switch", {values[a], pred}).output(1)});
    const Value other = identity(graph.add("Switch", {values[b], pred}));
    add(graph.add("Merge", {other, taken}), -when_true[a], when_false[b]);
  }
  // Three times: a = (a + b) / 2 where pred holds, on another device than the rest of the loop; else a.
  void loop(std::size_t a, std::size_t b) {
    const Value way = values[b];
    const std::string device = str_cat("/gpu:", pick(8));
    const auto last = while_loop(
        {constant(graph, std::int32_t{0}), values[a]},
        [&](const auto& v) {
          return graph.add("Less", {v[0], constant(graph, std::int32_t{3})});
        },
        [&](const auto& v) {
          const Value next = cond_value(
              pred,
              [&] {
                const auto there = graph.device(device);
                return graph.add("Mul", {graph.add("AddV2", {v[1], way}), constant(graph, 0.5f)});
              },
              [&] { return v[1]; });
          return std::vector<Value>{graph.add("AddV2", {v[0], constant(graph, std::int32_t{1})}), next};
        });
    float t = when_true[a];
    for (int i = 0; i < 3; ++i) t = (t + when_true[b]) * 0.5f;
    add(last[1], t, when_false[a]);
  }
  std::mt19937 random_;
};

void expect_right(TestSession& session, const RandomGraph& r, bool pred) {
  const auto out = session.run({{r.x, Tensor::scalar(1.0f)}, {r.pred, Tensor::scalar(pred)}}, {r.last});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(*out->at(0).data<float>(), pred ? r.when_true.back() : r.when_false.back());
}

void stress(bool branches) {
  RandomGraph r(10000, 8, branches, branches ? 2 : 1);
  ASSERT_TRUE(r.graph.status().ok()) << r.graph.status().to_string();
  TestSession session(r.graph, {.devices = {.emulate = "8"}});
  ASSERT_TRUE(session.status().ok()) << session.status().to_string();
  for (const bool pred : {true, false, true}) expect_right(session, r, pred);

  const Feeds feeds = {{r.x, Tensor::scalar(1.0f)}, {r.pred, Tensor::scalar(true)}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(session.run(feeds, {r.bomb}).status().to_string(), testing::HasSubstr("bomb"));
    Cancellation cancellation;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
      cancellation.cancel(cancelled("enough"));
    });
    const auto out = session.run(feeds, {r.last}, {}, {.cancellation = &cancellation});
    canceller.join();
    EXPECT_TRUE(out.ok() || out.status().code() == Code::kCancelled) << out.status().to_string();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&, t] { expect_right(session, r, t % 2 == 0); });
  for (std::thread& t : threads) t.join();
  expect_right(session, r, false);
}

TEST(Stress, TenThousandNodesOnEightDevices) { stress(false); }
TEST(Stress, TenThousandNodesWithBranchesAndLoops) { stress(true); }

TEST(Stress, SessionsComeAndGo) {
  Graph g;
  Value y = placeholder(g, DType::kFloat32, {64, 64}, "x");
  for (int i = 0; i < 8; ++i) {
    const auto on = g.device(str_cat("/gpu:", i % 2));
    y = g.add("AddV2", {y, y});
  }
  const Tensor feed = Tensor::zeros(DType::kFloat32, {64, 64});
  const std::uint64_t before = host_allocator().stats().in_use_bytes;
  for (int i = 0; i < 100; ++i) {
    TestSession session(g, {.devices = {.emulate = "gpu:64MiB,gpu:64MiB"}});
    ASSERT_TRUE(session.run({{*g.value("x"), feed}}, {y}).ok());
  }
  EXPECT_EQ(host_allocator().stats().in_use_bytes, before);
}

}  // namespace
}  // namespace argosy
