// Trains the built-in models on a fake GPU: every op has a kernel there, and the losses are the CPU's.
#include <gmock/gmock.h>

#include "argosy/data/dataset.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/pool/pool.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/classify.h"
#include "argosy/train/models/models.h"
#include "argosy/train/models/sorting_task.h"
#include "tests/fake_gpu/support/fake_dnn.h"
#include "tests/fake_gpu/support/fake_driver_kernels.h"

namespace argosy {

namespace {

using testing::IsEmpty;

// What of a training step runs on a CPU because a GPU has no kernel for it.
std::vector<std::string> left_to_the_cpu(const ModelBuilder& model, const Optimizer& optimizer, DType compute) {
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), cuda::fake::with_kernels());
  const SessionOptions session{.devices = machine.request("gpu:0")};
  auto devices = chosen_devices(session.devices);
  EXPECT_TRUE(devices.ok()) << devices.status().to_string();
  auto built = build_model(model, {.compute = compute}, &optimizer);
  EXPECT_TRUE(built.ok()) << built.status().to_string();
  auto program = CompiledModel::make(*std::move(built), {.devices = *devices, .session = session});
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  const auto placement = (*program)->placement(8);
  EXPECT_TRUE(placement.ok()) << placement.status().to_string();
  std::vector<std::string> left;
  for (const auto& row : placement->rows) {
    if (row.reason.find("no GPU kernel") != std::string::npos) left.push_back(str_cat(row.node, ": ", row.reason));
  }
  return left;
}

TEST(CudaTraining, NoOpOfTheModelsIsLeftToTheCpu) {
  const models::ClassifierOptions grey, small{.image_size = 32, .channels = 3}, large{.image_size = 224, .channels = 3};
  const std::pair<const char*, ModelBuilder> all[] = {{"mlp", models::mlp(grey)},
                                                      {"lenet", models::lenet(grey)},
                                                      {"autoencoder", models::autoencoder({})},
                                                      {"resnet 20", models::resnet(small, 20)},
                                                      {"resnet 50", models::resnet(large, 50)},
                                                      {"transformer", models::transformer({})}};
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    EXPECT_THAT(left_to_the_cpu(model, adam(1e-3), DType::kInvalid), IsEmpty());
  }
  EXPECT_THAT(left_to_the_cpu(models::resnet(small, 20), momentum(0.1, 0.9), DType::kBfloat16), IsEmpty());
  for (const Optimizer& optimizer : {sgd(0.1), adagrad(0.1), adadelta(0.1), rms_prop(0.1), ftrl(0.1)}) {
    EXPECT_THAT(left_to_the_cpu(models::mlp(grey), optimizer, DType::kInvalid), IsEmpty());
  }
}

constexpr int kSize = 6, kBatch = 4, kSteps = 8;  // the last of them are replays

std::unique_ptr<data::Dataset> images(int channels) {
  return data::open_dataset("synthetic", {.image_size = kSize, .channels = channels, .examples = 16}).value();
}

Result<TrainReport> train(const ModelBuilder& model, const data::Dataset& data, const DeviceRequest& devices,
                          const Optimizer& optimizer) {
  TrainerOptions options{
      .optimizer = optimizer, .devices = devices, .batch = kBatch, .steps = kSteps, .seed = 7, .verdict = false};
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model, std::move(options)));
  return trainer->fit(data);
}

void trains_as_on_the_cpu(const ModelBuilder& model, const data::Dataset& data, const Optimizer& optimizer,
                          cuda::CudaBackend::Options backend = cuda::fake::with_kernels()) {
  const auto expected = train(model, data, {.devices = "cpu:0"}, optimizer);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  cuda::fake::Machine machine(cuda::fake::gpus_with_kernels(1), std::move(backend));
  const auto found = train(model, data, machine.request("gpu:0"), optimizer);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->losses.size(), static_cast<std::size_t>(kSteps));
  for (std::size_t i = 0; i < found->losses.size(); ++i) {
    EXPECT_NEAR(found->losses[i], expected->losses[i], 1e-4 * std::abs(expected->losses[i])) << "step " << i;
  }
}

// Few filters: threads of a block are fibers here.
TEST(CudaTraining, Convolutions) {
  const models::ClassifierOptions options{.image_size = kSize, .channels = 3};
  const ModelBuilder model = [=](Layers& net) {
    Value x = net.conv2d(models::image_input(net, options), 4, {.window = {3, 3}});
    x = relu(net.batch_norm(x));
    x = max_pool(x, {.padding = "SAME"});
    return models::classify(net, net.dense(flatten(x), 10));
  };
  trains_as_on_the_cpu(model, *images(3), momentum(0.1, 0.9));
}
// All that cuDNN has: what is not followed by a ReLU, which goes in one pass with the normalisation.
TEST(CudaTraining, WithCudnn) {
  const models::ClassifierOptions options{.image_size = kSize, .channels = 3};
  const ModelBuilder model = [=](Layers& net) {
    Value x = net.conv2d(models::image_input(net, options), 4, {.window = {3, 3}});
    x = net.batch_norm(max_pool(x));
    x = avg_pool(x, {.window = {3, 3}, .strides = {3, 3}});
    return models::classify(net, net.dense(flatten(x), 10));
  };
  cuda::fake::FakeDnn dnn;
  trains_as_on_the_cpu(model, *images(3), momentum(0.1, 0.9), dnn.found(cuda::fake::with_kernels()));
  EXPECT_GT(dnn.convolutions, 0);
  EXPECT_GT(dnn.trainings, 0);
  EXPECT_GT(dnn.norm_gradients, 0);
  EXPECT_GT(dnn.pools, 0);
  EXPECT_GT(dnn.pool_gradients, 0);
  EXPECT_EQ(dnn.live_objects, 0);
}
TEST(CudaTraining, Autoencoder) {
  trains_as_on_the_cpu(models::autoencoder({.image_size = kSize, .channels = 3, .depth = 1, .width = 3}), *images(3),
                       adam(1e-3));
}
TEST(CudaTraining, Transformer) {
  const auto data = models::sorting_task(4, 6, 16, 1).value();
  trains_as_on_the_cpu(models::transformer({.length = 4, .vocabulary = 6, .width = 4, .heads = 2, .layers = 1}), *data,
                       adam(1e-3));
}

}  // namespace

}  // namespace argosy
