// Lists, arrays and stacks on fake GPUs: what a loop stores stays on the GPU; a reader elsewhere gets a copy.
#include <gmock/gmock.h>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/list/list.h"
#include "argosy/ops/map/map.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/tensor_array/tensor_array.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using ::testing::IsEmpty;

constexpr int kTime = 4, kBatch = 3, kUnits = 5;

// A recurrent layer over rows of x, its states in a list or an array, and the gradients of what they come to.
struct Recurrent {
  Graph graph;
  Value x, w;
  std::vector<Value> results;  // the states, and two gradients

  explicit Recurrent(bool array) {
    x = placeholder(graph, DType::kFloat32, {kTime, kBatch, kUnits}, "x");
    w = placeholder(graph, DType::kFloat32, {kUnits, kUnits}, "w");
    const Value zero = constant(graph, Tensor::zeros(DType::kFloat32, {kBatch, kUnits}));
    const Value start = constant(graph, Tensor::scalar(0)), steps = constant(graph, Tensor::scalar(kTime));
    Value states;
    const auto next = [&](Value row, Value state) { return tanh(matmul(state, w) + row); };
    if (array) {
      const TensorArrayValue in =
          tensor_array_scatter(tensor_array(steps, DType::kFloat32, {.element_shape = {kBatch, kUnits}}, "in"),
                               constant(graph, Tensor::vector<std::int32_t>({0, 1, 2, 3})), x);
      TensorArrayValue out = tensor_array(steps, DType::kFloat32, {.element_shape = {kBatch, kUnits}}, "out");
      Value state = zero;
      for (int t = 0; t < kTime; ++t) {
        const Value at = constant(graph, Tensor::scalar(t));
        state = next(tensor_array_read(in, at), state);
        out = tensor_array_write(out, at, state);
      }
      states = tensor_array_gather(out, constant(graph, Tensor::vector<std::int32_t>({3, 2, 1, 0})));
    } else {
      const Value rows = tensor_list_from_tensor(x);
      const Value kept = tensor_list_reserve(steps, DType::kFloat32, {kBatch, kUnits});
      const auto last = while_loop(
          {start, zero, kept}, [&](const auto& v) { return less(v[0], steps); },
          [&](const auto& v) {
            const Value state = next(tensor_list_get_item(rows, v[0]), v[1]);
            return std::vector<Value>{v[0] + constant(graph, Tensor::scalar(1)), state,
                                      tensor_list_set_item(v[2], v[0], state)};
          });
      states = tensor_list_stack(last[2]);
    }
    const Value loss = reduce_sum(states * states);
    const std::vector<Value> slopes = gradients(graph, {loss}, {x, w});
    results = {states, slopes[0], slopes[1]};
  }

  std::vector<Tensor> run(const DeviceRequest& devices, std::vector<std::string>* elsewhere = nullptr) {
    const Feeds feeds = {{x, random_tensor(DType::kFloat32, {kTime, kBatch, kUnits}, 3)},
                         {w, random_tensor(DType::kFloat32, {kUnits, kUnits}, 4)}};
    Session session(graph, {.devices = devices});
    if (elsewhere != nullptr) {
      const auto report =
          session.placement({{x, Shape{kTime, kBatch, kUnits}}, {w, Shape{kUnits, kUnits}}}, results, {});
      EXPECT_TRUE(report.ok()) << report.status().to_string();
      for (const auto& row : report->rows) {
        const bool ours = row.op.starts_with("Tensor") || row.op.starts_with("Stack");
        if (ours && row.device.find("GPU") == std::string::npos)
          elsewhere->push_back(str_cat(row.node, ": ", row.op, ", ", row.reason));
      }
    }
    std::vector<Tensor> first;
    for (int i = 0; i < 4; ++i) {
      const auto out = session.run(feeds, results);
      EXPECT_TRUE(out.ok()) << out.status().to_string();
      if (!out.ok()) return {};
      if (i == 0) first = *out;
      for (std::size_t k = 0; k < first.size(); ++k) EXPECT_EQ(difference((*out)[k], first[k], 0), "");
    }
    return first;
  }
};

class RecurrentOnGpus : public ::testing::TestWithParam<bool> {};

TEST_P(RecurrentOnGpus, HasTheCpusStatesAndGradientsAndKeepsThemOnTheGpu) {
  Recurrent layer(GetParam());
  ASSERT_EQ(layer.results.size(), 3U);
  const auto expected = layer.run({.devices = "cpu:0"});
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  std::vector<std::string> elsewhere;
  const auto got = layer.run(machine.request("gpu:0"), &elsewhere);
  EXPECT_THAT(elsewhere, IsEmpty());
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(difference(got[i], expected[i], 1e-5), "") << i;
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentOnGpus, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Array" : "List"; });

// A list made on one device, grown on a second, read on a third.
TEST(ListsOnGpus, GoFromDeviceToDevice) {
  const std::vector<std::string> places = {"/cpu:0", "/gpu:0", "/gpu:1"};
  const Tensor rows = random_tensor(DType::kFloat32, {2, 3}, 1), more = random_tensor(DType::kFloat32, {3}, 2);
  for (const std::string& makes : places) {
    for (const std::string& grows : places) {
      for (const std::string& reads : places) {
        SCOPED_TRACE(makes + " " + grows + " " + reads);
        cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(2), cuda::fake::with_kernels());
        Graph graph;
        const Value x = placeholder(graph, DType::kFloat32, {2, 3}, "x");
        const Value y = placeholder(graph, DType::kFloat32, {3}, "y");
        Value list, whole, one;
        {
          const auto on = graph.device(makes);
          list = tensor_list_from_tensor(x * constant(graph, Tensor::scalar(1.0f)));
        }
        {
          const auto on = graph.device(grows);
          list = tensor_list_push_back(list, y * constant(graph, Tensor::scalar(1.0f)));
        }
        {
          const auto on = graph.device(reads);
          whole = tensor_list_stack(list) * constant(graph, Tensor::scalar(2.0f));
          one = tensor_list_get_item(list, constant(graph, Tensor::scalar(2))) + y;
        }
        Session session(graph, {.devices = machine.request()});
        for (int i = 0; i < 3; ++i) {
          const auto out = session.run({{x, rows}, {y, more}}, {whole, one});
          ASSERT_TRUE(out.ok()) << out.status().to_string();
          for (int k = 0; k < 9; ++k) {
            const float value = k < 6 ? rows.data<float>()[k] : more.data<float>()[k - 6];
            EXPECT_EQ((*out)[0].data<float>()[k], 2 * value);
            if (k >= 6) {
              EXPECT_EQ((*out)[1].data<float>()[k - 6], 2 * value);
            }
          }
        }
      }
    }
  }
}

// Of numbers that live in the host's memory wherever their op runs.
TEST(ListsOnGpus, OfInt32StayWithTheHost) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Graph graph;
  const auto on = graph.device("/gpu:0");
  const Value x = placeholder(graph, DType::kInt32, {3, 2}, "x");
  const Value list =
      tensor_list_push_back(tensor_list_from_tensor(x), constant(graph, Tensor::vector<std::int32_t>({7, 8})));
  const Value whole = tensor_list_stack(list);
  const auto [rest, last] = tensor_list_pop_back(list);
  const Value count = tensor_list_length(rest);
  Session session(graph, {.devices = machine.request()});
  Tensor numbers = Tensor::zeros(DType::kInt32, {3, 2});
  for (int i = 0; i < 6; ++i) numbers.data<std::int32_t>()[i] = i;
  for (int i = 0; i < 3; ++i) {
    const auto out = session.run({{x, numbers}}, {whole, last, count});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ((*out)[0].data<std::int32_t>()[5], 5);
    EXPECT_EQ((*out)[0].data<std::int32_t>()[7], 8);
    EXPECT_EQ((*out)[1].data<std::int32_t>()[0], 7);
    EXPECT_EQ(*(*out)[2].data<std::int32_t>(), 3);
  }
}

TEST(StacksOnGpus, GiveBackWhatWasPushedOnTheGpu) {
  for (const std::string version : {"", "V2"}) {
    SCOPED_TRACE(version);
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
    Graph graph;
    const auto on = graph.device("/gpu:0");
    const Value x = placeholder(graph, DType::kFloat32, {4}, "x");
    std::vector<Value> most;
    if (version == "V2") most.push_back(constant(graph, Tensor::scalar(-1)));
    const Value stack = graph.add("Stack" + version, most, {{"elem_type", DType::kFloat32}});
    const Value pushed = graph.add("StackPush" + version, {stack, tanh(x)}, {{"T", DType::kFloat32}});
    Value popped;
    {
      const auto after = graph.control_dependencies({pushed});
      popped = graph.add("StackPop" + version, {stack}, {{"elem_type", DType::kFloat32}});
    }
    const Value y = popped - tanh(x);
    Session session(graph, {.devices = machine.request()});
    const auto report = session.placement({{x, Shape{4}}}, {y, pushed}, {});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    int on_gpu = 0;
    for (const auto& row : report->rows) {
      on_gpu += row.op.starts_with("Stack") && row.device.find("GPU") != std::string::npos;
    }
    EXPECT_EQ(on_gpu, 3);
    for (int i = 0; i < 4; ++i) {
      const auto out = session.run({{x, random_tensor(DType::kFloat32, {4}, 5)}}, {y, pushed});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      EXPECT_EQ(difference((*out)[0], Tensor::zeros(DType::kFloat32, {4}), 0), "");
    }
  }
}

// The gradient of an array read twice: its pieces are summed.
TEST(ArraysOnGpus, SumTheGradientsOfAnElementReadTwice) {
  const auto run = [](const DeviceRequest& devices) {
    Graph graph;
    const Value x = placeholder(graph, DType::kFloat32, {2, 3}, "x");
    const TensorArrayOptions options{.element_shape = {3}, .clear_after_read = false};
    const TensorArrayValue array =
        tensor_array_scatter(tensor_array(constant(graph, Tensor::scalar(2)), DType::kFloat32, options, "a"),
                             constant(graph, Tensor::vector<std::int32_t>({0, 1})), x);
    const Value at = constant(graph, Tensor::scalar(1));
    const Value loss = reduce_sum(sin(tensor_array_read(array, at))) + reduce_sum(tanh(tensor_array_read(array, at)));
    const Value slope = gradients(graph, {loss}, {x})[0];
    Session session(graph, {.devices = devices});
    auto out = session.run({{x, random_tensor(DType::kFloat32, {2, 3}, 6)}}, {slope});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? out->at(0) : Tensor();
  };
  const Tensor expected = run({.devices = "cpu:0"});
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  EXPECT_EQ(difference(run(machine.request("gpu:0")), expected, 1e-6), "");
}

// Two lists, and two arrays' elements, added up: on the GPU, which nobody waits for.
TEST(ListsOnGpus, AreAddedThere) {
  const Tensor rows = random_tensor(DType::kFloat32, {4, 3}, 7);
  const auto run = [&](const DeviceRequest& devices, bool sums, const std::function<void()>& before_last) {
    Graph graph;
    const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x");
    const Value a = tensor_list_from_tensor(sin(x)), b = tensor_list_from_tensor(tanh(x));
    const Value y = tensor_list_stack(sums ? graph.add("AddN", {a, b, a}) : a);
    const Value seen = y * constant(graph, 2.0f);
    Session session(graph, {.devices = devices});
    Tensor last;
    for (int i = 0; i < 3; ++i) {
      if (i == 2) before_last();
      auto out = session.run({{x, rows}}, {seen});
      EXPECT_TRUE(out.ok()) << out.status().to_string();
      if (out.ok()) last = out->at(0);
    }
    return last;
  };
  const Tensor expected = run({.devices = "cpu:0"}, true, [] {});
  std::int64_t waits[2] = {};
  for (const bool sums : {false, true}) {
    cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
    std::int64_t before = 0;
    const Tensor found = run(machine.request("gpu:0"), sums, [&] { before = machine.driver().counts().host_waits; });
    waits[sums ? 1 : 0] = machine.driver().counts().host_waits - before;
    if (!sums) continue;
    EXPECT_EQ(difference(found, expected, 1e-6), "");
  }
  EXPECT_EQ(waits[1], waits[0]);
}

// What the host adds up on a GPU's behalf is in its own memory.
TEST(MapsOnGpus, AreAddedByTheHost) {
  Graph graph;
  const auto on = graph.device("/gpu:0");
  const Value x = placeholder(graph, DType::kFloat32, {3}, "x");
  const Value key = constant(graph, Tensor::scalar(1));
  const Value map = tensor_map_insert(tensor_map(graph), key, x);
  const Value y = tensor_map_lookup(graph.add("AddN", {map, map}), key, DType::kFloat32);
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  Session session(graph, {.devices = machine.request("gpu:0")});
  const auto out = session.run({{x, Tensor::vector<float>({1, 2, 3})}}, {y});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(difference((*out)[0], Tensor::vector<float>({2, 4, 6}), 0), "");
}

}  // namespace
}  // namespace argosy
