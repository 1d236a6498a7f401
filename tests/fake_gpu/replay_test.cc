// A step that is captured and replayed must see all that changes between runs. Every run is compared with the CPU's;
// the last ones are replays.
#include <gmock/gmock.h>

#include "argosy/op/state/variable.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/dataset/dataset.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/gather/gather.h"
#include "argosy/ops/iterator/iterator.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/optimizer/optimizer.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/models/models.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using cuda::fake::Call;

constexpr int kRuns = 8;  // the third is captured, where nothing moves

// A machine with a GPU, and another that has none, doing the same.
struct Both {
  explicit Both(Graph& graph)
      : gpu(graph, {.devices = machine.request("gpu:0")}), cpu(graph, {.devices = {.devices = "cpu:0"}}) {}

  // The same on both. Returns what the GPU gave.
  std::vector<Tensor> run(const Feeds& feeds, const std::vector<Value>& fetches,
                          const std::vector<Value>& targets = {}) {
    auto found = gpu.run(feeds, fetches, targets), expected = cpu.run(feeds, fetches, targets);
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_TRUE(expected.ok()) << expected.status().to_string();
    if (!found.ok() || !expected.ok()) return {};
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_EQ(difference(found->at(i), expected->at(i), 1e-5), "") << "fetch " << i;
    }
    return *std::move(found);
  }
  std::int64_t graphs() { return machine.driver().counts().graph_launches; }

  cuda::fake::Machine machine{cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels()};
  Session gpu, cpu;
};

// Long enough to be captured.
Value chain(Value y) {
  for (int i = 0; i < 4; ++i) y = tanh(reduce_sum(y, {1}, true) * 0.1f + y);
  return y;
}

Tensor labels(int run) {
  Tensor t = Tensor::zeros(DType::kInt32, {4});
  for (int i = 0; i < 4; ++i) t.data<std::int32_t>()[i] = (i + run) % 3;
  return t;
}

TEST(CudaReplay, LabelsOfEveryRun) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x"), y = placeholder(graph, DType::kInt32, {4}, "y");
  const Value loss = reduce_mean(sparse_softmax_cross_entropy(chain(x), y));
  Both both(graph);
  for (int i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    const auto before = both.graphs();
    both.run({{x, random_tensor(DType::kFloat32, {4, 3}, static_cast<std::uint64_t>(i + 1))}, {y, labels(i)}}, {loss});
    EXPECT_EQ(both.graphs() - before, i < 2 ? 0 : 1);
  }
}

TEST(CudaReplay, IndicesThatAreFedAndThoseThatAreConstant) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x"), at = placeholder(graph, DType::kInt32, {4}, "at");
  Tensor places = Tensor::zeros(DType::kInt32, {4, 1});
  for (int i = 0; i < 4; ++i) places.data<std::int32_t>()[i] = 3 - i;
  Tensor shape = Tensor::zeros(DType::kInt32, {2});
  shape.data<std::int32_t>()[0] = 4, shape.data<std::int32_t>()[1] = 3;
  // What the host makes of the constant goes to the GPU with every replay.
  const Value turned = scatter_nd(constant(graph, places), chain(gather(x, at)), constant(graph, shape));
  const Value out = chain(turned) * 2.0f;
  Both both(graph);
  for (int i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    both.run({{x, random_tensor(DType::kFloat32, {4, 3}, static_cast<std::uint64_t>(i + 1))}, {at, labels(i)}}, {out});
  }
  EXPECT_GT(both.graphs(), kRuns - 3);
}

TEST(CudaReplay, FeedsOfAnotherShape) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {-1, 3}, "x");
  const Value out = chain(x) + 1.0f;
  Both both(graph);
  for (int i = 0; i < 3 * kRuns; ++i) {
    SCOPED_TRACE(i);
    both.run({{x, random_tensor(DType::kFloat32, {4 + i % 3, 3}, static_cast<std::uint64_t>(i + 1))}}, {out});
  }
  EXPECT_GT(both.graphs(), 0);
}

// The last batch of an epoch is smaller than the others, and may lie where they lay. What is captured must neither read
// the rows that it has not, nor what was let go of before the first replay.
TEST(CudaReplay, BatchesOfAnIteratorWhoseLastOneIsSmaller) {
  for (const std::int64_t batch : {4, 5, 7, 10}) {
    SCOPED_TRACE(batch);
    Graph graph;
    const Tensor rows = random_tensor(DType::kFloat32, {20, 3}, 1), labels = random_tensor(DType::kFloat32, {20, 1}, 2);
    const IteratorValue it = one_shot_iterator(graph, [&](Graph& body) {
      return repeat_dataset(batch_dataset(tensor_slice_dataset({constant(body, rows), constant(body, labels)}), batch));
    });
    const VariableNode w = variable(graph, random_tensor(DType::kFloat32, {3, 1}, 3), "w");
    const Value x = it.next[0];
    const Value apart = matmul(x, w.read) - it.next[1], loss = reduce_mean(apart * apart);
    const Value gradient = chain(matmul(x, apart, {.transpose_a = true}) * 0.1f);
    const Value update = apply_gradient_descent(w, constant(graph, 0.1f), gradient);
    Both both(graph);
    both.run({}, {}, {w.initializer});
    for (int i = 0; i < 3 * kRuns; ++i) {
      SCOPED_TRACE(i);
      both.run({}, {loss}, {update});
      both.run({}, {w.read});
    }
    EXPECT_GT(both.graphs(), 0);
  }
}

// A variable of any number of rows, of which another step makes fewer or more.
TEST(CudaReplay, AVariableWhoseShapeChanges) {
  Graph graph;
  const Value to = placeholder(graph, DType::kFloat32, {-1, 3}, "to");
  const VariableNode v =
      variable(graph, PartialShape({-1, 3}), DType::kFloat32, "v", {.kind = VariableKind::kResource});
  const Value set = graph.add("AssignVariableOp", {v.ref, to}, {{"dtype", DType::kFloat32}}), rows = v.read;
  const Value sums = chain(matmul(rows, rows, {.transpose_a = true}));
  Both both(graph);
  for (int i = 0; i < 3 * kRuns; ++i) {
    SCOPED_TRACE(i);
    const std::int64_t count = i % 5 == 4 ? 2 : 6;
    both.run({{to, random_tensor(DType::kFloat32, {count, 3}, static_cast<std::uint64_t>(i + 1))}}, {}, {set});
    both.run({}, {sums});
    both.run({}, {sums});
  }
  EXPECT_GT(both.graphs(), 0);
}

// Who holds a variable's value sees that value, whatever steps do later: a replay does not write where somebody reads.
TEST(CudaReplay, AHeldValueStaysWhatItWas) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x");
  const VariableNode w = variable(graph, random_tensor(DType::kFloat32, {3, 3}, 3), "w");
  const Value gradient = chain(matmul(x, chain(matmul(x, w.read)), {.transpose_a = true}));
  const Value update = apply_gradient_descent(w, constant(graph, 0.1f), gradient);
  Both both(graph);
  both.run({}, {}, {w.initializer});
  const DeviceSet& devices = both.gpu.device_set();
  const auto held_by = devices.resources(1).find<Variable>("localhost", "w");
  ASSERT_TRUE(held_by.ok()) << held_by.status().to_string();
  std::int64_t replayed = 0;
  for (int i = 0; i < 5 * kRuns; ++i) {
    SCOPED_TRACE(i);
    Tensor held, copy;
    if (i % 5 == 4) {
      held = (*held_by)->read("w").value();
      copy = (*held_by)->read_to_host("w").value();
    }
    const auto before = both.graphs();
    both.run({{x, random_tensor(DType::kFloat32, {4, 3}, static_cast<std::uint64_t>(i + 1))}}, {}, {update});
    replayed += both.graphs() - before;
    both.run({}, {w.read});
    if (!held.valid()) continue;
    Tensor now = Tensor::zeros(DType::kFloat32, {3, 3});
    ASSERT_TRUE(devices.device(1).allocator().copy_out(now.raw(), held.raw(), held.bytes()).ok());
    EXPECT_EQ(difference(now, copy, 0), "");
  }
  EXPECT_GT(replayed, kRuns);
}

// A variable that other steps write to between two runs, in place and anew.
TEST(CudaReplay, VariablesThatOtherStepsAssign) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x"), to = placeholder(graph, DType::kFloat32, {3}, "to");
  const VariableNode v = variable(graph, random_tensor(DType::kFloat32, {3}, 5), "v");
  const Value out = chain(x * v.read), set = assign(v, to), grown = assign_add(v, to);
  Both both(graph);
  both.run({}, {}, {v.initializer});
  std::vector<Tensor> held;
  for (int i = 0; i < 3 * kRuns; ++i) {
    SCOPED_TRACE(i);
    const Feeds feeds = {{to, random_tensor(DType::kFloat32, {3}, static_cast<std::uint64_t>(i + 100))}};
    if (i % 4 == 1) both.run(feeds, {}, {set});
    if (i % 4 == 3) both.run(feeds, {}, {grown});
    both.run({{x, random_tensor(DType::kFloat32, {4, 3}, static_cast<std::uint64_t>(i + 1))}}, {out});
    if (i == 2 * kRuns) both.run({}, {}, {v.initializer});
    held = both.run({}, {v.read});
  }
  EXPECT_GT(both.graphs(), 0);
}

// One that its own step updates, read before and after.
TEST(CudaReplay, VariablesThatTheStepUpdates) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x");
  const VariableNode v = variable(graph, random_tensor(DType::kFloat32, {3}, 5), "v");
  const VariableNode steps = variable(graph, Tensor::scalar(std::int64_t{0}), "steps");
  const Value out = chain(x * v.read);
  const Value update = apply_gradient_descent(v, constant(graph, 0.1f), reduce_mean(out, {0}));
  Value counted;
  {
    const auto after = graph.control_dependencies({update.control()});
    counted = assign_add(steps, constant(graph, std::int64_t{1}));
  }
  Both both(graph);
  both.run({}, {}, {v.initializer, steps.initializer});
  for (int i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    both.run({{x, random_tensor(DType::kFloat32, {4, 3}, static_cast<std::uint64_t>(i + 1))}}, {out}, {counted});
    const auto now = both.run({}, {v.read, steps.read});
    ASSERT_EQ(now.size(), 2U);
    EXPECT_EQ(*now[1].data<std::int64_t>(), i + 1);
  }
  EXPECT_GT(both.graphs(), 0);
}

TEST(CudaReplay, NewRandomNumbersInEveryRun) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, {4, 3}, "x");
  const Value out = chain(chain(x) + random_uniform(graph, {4, 3}, 0, 1, {.seed = 7}));
  Both both(graph);
  const Feeds feeds = {{x, random_tensor(DType::kFloat32, {4, 3}, 1)}};
  Tensor last;
  for (int i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    const auto now = both.run(feeds, {out});
    ASSERT_EQ(now.size(), 1U);
    if (last.valid()) {
      EXPECT_NE(difference(now[0], last, 1e-3), "");
    }
    last = now[0];
  }
  EXPECT_GT(both.graphs(), 0);
}

// Rates that follow the step's number, moments that grow with it, masks of dropout drawn by it.
TEST(CudaReplay, RatesAndMasksOfEveryStep) {
  const ModelBuilder model = [](Layers& net) {
    Value x = net.input("x", DType::kFloat32, {3});
    x = net.dropout(net.dense(x, 8, {.activation = [](Value v) { return tanh(v); }}), 0.5);
    return Model{.loss = reduce_mean(square(net.dense(x, 2)))};
  };
  const Optimizer optimizer = adam_w(LearningRate::cosine(0.1, kRuns), 0.01);
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  std::vector<std::vector<double>> losses;
  for (const SessionOptions& session :
       {SessionOptions{.devices = {.devices = "cpu:0"}}, SessionOptions{.devices = machine.request("gpu:0")}}) {
    auto built = build_model(model, {.seed = 3}, &optimizer);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    const auto program =
        CompiledModel::make(*std::move(built), {.devices = *chosen_devices(session.devices), .session = session});
    ASSERT_TRUE(program.ok()) << program.status().to_string();
    ASSERT_TRUE((*program)->initialize().ok());
    losses.emplace_back();
    for (int i = 0; i < kRuns; ++i) {
      const std::vector<Tensor> feeds = {random_tensor(DType::kFloat32, {6, 3}, static_cast<std::uint64_t>(i + 1))};
      const auto loss = (*program)->step(feeds);
      ASSERT_TRUE(loss.ok()) << loss.status().to_string();
      losses.back().push_back(*loss);
    }
  }
  for (int i = 0; i < kRuns; ++i) {
    EXPECT_NEAR(losses[1][static_cast<std::size_t>(i)], losses[0][static_cast<std::size_t>(i)], 1e-5) << "step " << i;
  }
  EXPECT_GT(machine.driver().counts().graph_launches, 0);
}

}  // namespace
}  // namespace argosy
