// Counts what a steady training step of each built-in model enqueues on a GPU: kernels, graphs, copies. The GPUs
// compute nothing. ARGOSY_SHOW_STEPS=1 prints every call, =nodes also its node.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"
#include "tests/fake_gpu/support/fake_dnn.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {
namespace {

using cuda::fake::Call;

struct Wanted {
  ModelBuilder model;
  Optimizer optimizer = sgd(0.1);
  std::int64_t batch = 8;
  DType compute = DType::kInvalid;
  int gpus = 1;  // virtual ones, of one physical GPU
};

struct Counted {
  int kernels = 0;           // by graphs too
  int graphs = 0;            // launched
  int alone = 0;             // kernels, copies on the GPU and fills that no graph starts
  int fills = 0, moves = 0;  // in and out of graphs: memory set, memory copied on the GPU
  int copies_in = 0, copies_out = 0;
  int allocations = 0;
  std::map<std::string, int> by_name;
};

Counted count(const std::vector<Call>& calls) {
  Counted c;
  for (const Call& call : calls) {
    if (call.how == Call::How::kCaptured) continue;
    const bool alone = call.how == Call::How::kCalled;
    const bool kernel = call.what.starts_with("kernel ");
    const bool move = call.what == "a copy" || call.what == "fill";
    c.kernels += kernel ? 1 : 0;
    c.alone += alone && (kernel || move) ? 1 : 0;
    c.fills += call.what == "fill" ? 1 : 0;
    c.moves += call.what == "a copy" ? 1 : 0;
    c.graphs += call.what == "launch" ? 1 : 0;
    c.copies_in += call.what == "copy in" ? 1 : 0;
    c.copies_out += call.what == "copy out" ? 1 : 0;
    c.allocations += call.what == "allocate" || call.what == "pin" ? 1 : 0;
    ++c.by_name[call.what];
  }
  return c;
}

Tensor zeros_like(const Layers::Input& input, std::int64_t batch) {
  std::vector<std::int64_t> sizes = input.placeholder.shape().sizes();
  sizes[0] = batch;
  return Tensor::zeros(input.placeholder.dtype(), Shape(std::span<const std::int64_t>(sizes)));
}

// The calls of one step among steady ones.
std::vector<Call> steady_step(const Wanted& wanted, bool dnn = false) {
  const char* const show = std::getenv("ARGOSY_SHOW_STEPS");
  cuda::fake::Options fake_options = cuda::fake::gpus_with_kernels(1);
  fake_options.run_kernels = false;
  cuda::CudaBackend::Options backend = cuda::fake::with_kernels();
  backend.compiler = cuda::fake::CompilesNothing::make;
  if (show != nullptr && std::string_view(show) == "nodes") backend.observer = cuda::fake::FakeDriver::observer();
  cuda::fake::FakeDnn library;
  cuda::fake::Machine machine(std::move(fake_options), dnn ? library.found(std::move(backend)) : std::move(backend));
  SessionOptions session{.devices = machine.request()};
  if (wanted.gpus > 1) session.devices.virtual_gpus = std::to_string(wanted.gpus);
  const auto devices = chosen_devices(session.devices);
  auto built = build_model(wanted.model, {.compute = wanted.compute}, &wanted.optimizer);
  EXPECT_TRUE(devices.ok() && built.ok()) << built.status().to_string();
  if (!devices.ok() || !built.ok()) return {};
  std::vector<Tensor> feeds;
  for (const Layers::Input& input : built->inputs) feeds.push_back(zeros_like(input, wanted.batch));
  const auto program = CompiledModel::make(*std::move(built), {.devices = *devices, .session = session});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  if (!program.ok()) return {};
  const Status started = (*program)->initialize();
  EXPECT_TRUE(started.ok()) << started.to_string();
  std::vector<Call> calls;
  // Of the steady ones that which allocates least: where a block of pinned memory is in use yet, by chance, one more is
  // taken.
  for (int i = 0; i < 11; ++i) {
    machine.driver().take_calls();
    const auto loss = (*program)->step(feeds);
    EXPECT_TRUE(loss.ok()) << loss.status().to_string();
    std::vector<Call> made = machine.driver().take_calls();
    if (i < 8 || count(made).allocations < count(calls).allocations) calls = std::move(made);
  }
  if (show != nullptr) {
    for (const Call& call : calls) std::printf("%s\n", call.text().c_str());
    const auto placed = (*program)->placement(wanted.batch);
    for (const std::string& pass : placed.ok() ? placed->passes : std::vector<std::string>()) {
      std::printf("pass %s\n", pass.c_str());
    }
    const Counted c = count(calls);
    for (const auto& [name, n] : c.by_name) std::printf("%5d %s\n", n, name.c_str());
    std::printf("%d kernels, %d fills, %d moves, %d graphs, %d alone, %d in, %d out, %d allocations\n", c.kernels,
                c.fills, c.moves, c.graphs, c.alone, c.copies_in, c.copies_out, c.allocations);
  }
  return calls;
}

const models::ClassifierOptions kGrey, kColour{.image_size = 32, .channels = 3};

// A step on one GPU is a graph, a copy in for each feed and a copy out for the loss; nothing is allocated.
void expect_one_graph(const Counted& c, int kernels) {
  EXPECT_LE(c.kernels, kernels);
  EXPECT_EQ(c.graphs, 1);
  EXPECT_EQ(c.alone, 0);
  EXPECT_EQ(c.copies_out, 1);
  EXPECT_EQ(c.allocations, 0);
}

TEST(CudaSteps, Mlp) {
  const Counted c = count(steady_step({.model = models::mlp(kGrey), .batch = 10}));
  expect_one_graph(c, 18);
  EXPECT_EQ(c.copies_in, 2);
  EXPECT_EQ(c.fills + c.moves, 0);
}
TEST(CudaSteps, LeNet) {
  const Counted c = count(steady_step({.model = models::lenet(kGrey), .optimizer = adam(1e-3)}));
  expect_one_graph(c, 31);
  EXPECT_EQ(c.copies_in, 2);
  EXPECT_LE(c.fills + c.moves, 2);  // Adam's powers
}
TEST(CudaSteps, LeNetByCudnn) {
  expect_one_graph(count(steady_step({.model = models::lenet(kGrey), .optimizer = adam(1e-3)}, true)), 41);
}
TEST(CudaSteps, Autoencoder) {
  const models::AutoencoderOptions options{.image_size = 32, .depth = 4, .width = 32};
  const Counted c = count(steady_step({.model = models::autoencoder(options), .optimizer = adam(1e-3)}));
  expect_one_graph(c, 73);
  EXPECT_EQ(c.copies_in, 1);
}
TEST(CudaSteps, ResNetInBfloat16) {
  const Counted c = count(steady_step(
      {.model = models::resnet(kColour, 20), .optimizer = momentum(0.1, 0.9), .compute = DType::kBfloat16}));
  expect_one_graph(c, 348);
  EXPECT_EQ(c.copies_in, 2);
}
// Dropout too: its seeds are read on the GPU.
TEST(CudaSteps, Transformer) {
  const Counted c = count(steady_step({.model = models::transformer({}), .optimizer = adam(1e-3)}));
  expect_one_graph(c, 150);
  EXPECT_LE(c.copies_in, 3);
}
// Sums over GPUs are not recorded; they part what is.
TEST(CudaSteps, MlpOnTwo) {
  const Counted c = count(steady_step({.model = models::mlp(kGrey), .batch = 10, .gpus = 2}));
  EXPECT_LE(c.kernels, 40);
  EXPECT_LE(c.alone, 18);
  EXPECT_LE(c.graphs, 4);
  EXPECT_EQ(c.allocations, 0);
}
TEST(CudaSteps, LeNetOnTwo) {
  const Counted c = count(steady_step({.model = models::lenet(kGrey), .optimizer = adam(1e-3), .gpus = 2}));
  EXPECT_LE(c.kernels, 66);
  EXPECT_LE(c.alone, 14);
  EXPECT_LE(c.graphs, 8);
  EXPECT_EQ(c.allocations, 0);
}

}  // namespace
}  // namespace argosy
