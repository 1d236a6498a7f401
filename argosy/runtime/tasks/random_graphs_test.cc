// Random graphs, every node on a random device of two or three tasks: their values, step after step, are those of one
// task. Branches and loops, in each other; loops written in dataflow; variables of both kinds; tensor arrays; control
// edges; gradients.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "argosy/graph/gradients.h"
#include "argosy/graph/text.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/ops/tensor_array/tensor_array.h"
#include "argosy/testing/fake_cluster.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_(seed) {
    x = placeholder(graph, DType::kFloat32, {2}, "x");
    pred = placeholder(graph, DType::kBool, {}, "pred");
    add(x);
    add(constant(graph, Tensor::vector<float>({0.5f, -0.25f})));
    const int pieces = 6 + pick(12);
    for (int i = 0; i < pieces; ++i) add_piece(2);
    if (pick(3) == 0 && loops_ == 0) {  // loops in dataflow have none
      const auto dx = gradients(graph, {graph.add("AddV2", {values_.back(), x})}, {x});
      if (graph.status().ok() && dx[0].valid()) add(dx[0]);
    }
    for (int i = 0; i < 4; ++i) fetches.push_back(any());
    fetches.push_back(values_.back());
    targets = std::move(updates_);
  }

  // Every node, also of functions, on one of these devices.
  void place(const std::vector<std::string>& devices, std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto place_all = [&](Graph& g) {
      for (std::int32_t i = 0; i < g.size(); ++i) g.set_device(NodeId{i}, devices[random() % devices.size()]);
    };
    place_all(graph);
    for (const auto& [name, function] : graph.functions()) place_all(const_cast<Graph&>(function->body));
  }

  Graph graph;
  Value x, pred;
  std::vector<Value> fetches, targets, initializers;

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  void add(Value v) { values_.push_back(v); }
  Value any() { return values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))]; }
  Value half(Value v) { return graph.add("Mul", {v, constant(graph, Tensor::vector<float>({0.5f, 0.5f}))}); }

  // Some arithmetic of these two.
  Value some(Value a, Value b) {
    switch (pick(4)) {
      case 0: return half(graph.add("AddV2", {a, b}));
      case 1: return graph.add("Neg", {a});
      case 2: return graph.add("Tanh", {graph.add("Sub", {a, b})});
      default: return graph.add("Maximum", {a, half(b)});
    }
  }
  // `depth`: how deep branches and loops may go.
  Value inside(Value a, Value b, int depth) {
    if (depth > 0 && pick(3) == 0) return branch(a, b, depth - 1);
    if (depth > 0 && pick(3) == 0) return loop(a, b, depth - 1);
    const Value first = some(a, b);
    return pick(2) == 0 ? first : some(first, a);
  }
  Value branch(Value a, Value b, int depth) {
    const Value p = pick(2) == 0 ? pred : graph.add("LogicalNot", {pred});
    return cond_value(
        p, [&] { return inside(a, b, depth); }, [&] { return pick(3) == 0 ? identity(b) : inside(b, a, depth); });
  }
  Value loop(Value a, Value b, int depth) {
    const auto last = while_loop(
        {constant(graph, std::int32_t{0}), a},
        [&](const auto& v) {
          return graph.add("Less", {v[0], constant(graph, std::int32_t{2})});
        },
        [&](const auto& v) {
          return std::vector<Value>{graph.add("AddV2", {v[0], constant(graph, std::int32_t{1})}),
                                    inside(v[1], b, depth)};
        });
    return last[1];
  }

  void add_piece(int depth) {
    const Value a = any(), b = any();
    switch (pick(9)) {
      case 0: return add(branch(a, b, depth));
      case 1: return add(loop(a, b, depth));
      case 2: return add(with_dependencies({a}, b));
      case 3: {  // the ends of a branch, in dataflow; what crosses may be dead
        const auto [no, yes] = switch_value(a, pred);
        return add(merge({graph.add("Neg", {no}), some(yes, yes)}));
      }
      case 4: {  // a loop in dataflow, with a value from outside and an order from outside
        DataflowLoop l(
            graph, a, [&](const Value& v) { return some(v, DataflowLoop::enter(graph, b, name())); }, name());
        ++loops_;
        return add(l.out);
      }
      case 5: return add(state(a));
      case 6: return add(array(a, b));
      default: return add(some(a, b));
    }
  }
  const char* name() {
    names_.push_back(str_cat("frame", loops_));
    return names_.back().c_str();
  }
  // Updated once in a step, and read afterwards.
  Value state(Value v) {
    const auto kind = pick(2) == 0 ? VariableKind::kReference : VariableKind::kResource;
    const auto variable = argosy::variable(graph, Tensor::vector<float>({1, 2}), "v", {.kind = kind});
    initializers.push_back(variable.initializer);
    const Value update = assign_add(variable, half(v));
    updates_.push_back(update.control());
    const auto after = graph.control_dependencies({update.control()});
    return half(read_value(variable));
  }
  Value array(Value a, Value b) {
    auto array = tensor_array(constant(graph, std::int32_t{2}), DType::kFloat32, {.element_shape = PartialShape({2})});
    array = tensor_array_write(array, constant(graph, std::int32_t{0}), a);
    array = tensor_array_write(array, constant(graph, std::int32_t{1}), b);
    return tensor_array_read(array, constant(graph, std::int32_t{1}));
  }

  std::mt19937 random_;
  std::vector<Value> values_, updates_;
  std::deque<std::string> names_;
  int loops_ = 0;
};

using Steps = std::vector<std::vector<Tensor>>;

Result<Steps> run_steps(RandomGraph& r, Session& session) {
  if (!r.initializers.empty()) ARGOSY_RETURN_IF_ERROR(session.run_targets(r.initializers));
  Steps all;
  for (int step = 0; step < 4; ++step) {
    const Feeds feeds = {{r.x, Tensor::vector<float>({0.5f * static_cast<float>(step), -1.0f})},
                         {r.pred, Tensor::scalar(step % 2 == 0)}};
    ARGOSY_ASSIGN_OR_RETURN(auto out, session.run(feeds, r.fetches, r.targets, {.timeout = std::chrono::seconds(20)}));
    all.push_back(std::move(out));
  }
  return all;
}

void expect_equal_values(const std::vector<FakeTask>& tasks, int seeds) {
  const char* const only = std::getenv("ARGOSY_RANDOM_SEED");
  for (int seed = 1; seed <= seeds; ++seed) {
    if (only != nullptr && std::to_string(seed) != only) continue;
    SCOPED_TRACE(str_cat("ARGOSY_RANDOM_SEED=", seed));
    RandomGraph alone(static_cast<std::uint32_t>(seed)), spread(static_cast<std::uint32_t>(seed));
    ASSERT_TRUE(alone.graph.status().ok()) << alone.graph.status().to_string();
    Session one(alone.graph, {.devices = {.devices = "cpu:0"}});
    const auto wanted = run_steps(alone, one);
    ASSERT_TRUE(wanted.ok()) << wanted.status().to_string();

    FakeCluster cluster(tasks);
    spread.place(cluster.device_names(), static_cast<std::uint32_t>(seed));
    auto options = cluster.options();
    options.optimize = seed % 3 != 0;
    Session many(spread.graph, options);
    const auto got = run_steps(spread, many);
    ASSERT_TRUE(got.ok()) << got.status().to_string() << "\n" << to_text(spread.graph);
    for (std::size_t s = 0; s < wanted->size(); ++s) {
      for (std::size_t f = 0; f < wanted->at(s).size(); ++f) {
        ASSERT_EQ(difference(got->at(s)[f], wanted->at(s)[f], 0), "")
            << "step " << s << ", fetch " << spread.fetches[f].name() << "\n"
            << to_text(spread.graph);
      }
    }
    EXPECT_EQ(cluster.steps_under_way(), 0u);
  }
}

TEST(RandomGraphs, TwoTasks) { expect_equal_values({{.job = "a"}, {.job = "b"}}, 60); }
TEST(RandomGraphs, ThreeTasks) { expect_equal_values({{.job = "a"}, {.job = "b"}, {.job = "b", .task = 1}}, 60); }
TEST(RandomGraphs, ThreeTasksOfTwoDevices) {
  expect_equal_values({{.job = "a", .cpus = 2}, {.job = "b", .cpus = 2}, {.job = "b", .task = 1, .gpus = 1}}, 60);
}

}  // namespace
}  // namespace argosy
