// MNIST from C++: a convolutional network, trained, evaluated, saved. Two devices instead of one is one argument more:
//
//   example_mnist data/mnist              on the CPU
//   example_mnist data/mnist gpu:0,gpu:1  on two GPUs (or ARGOSY_EMULATE=2 and no GPU at all)
//
// Without a folder it trains for a moment on made-up images of MNIST's size.
#include <argosy/argosy.h>

#include <cstdio>
#include <filesystem>

using namespace argosy;

Model lenet(Layers& net) {
  const Value images = net.input("image", DType::kFloat32, {28, 28, 1});
  const Value labels = net.input("label", DType::kInt32, {});
  const auto with_relu = [](Value v) { return relu(v); };
  Value x = max_pool(net.conv2d(images, 16, {.window = {5, 5}, .activation = with_relu}));
  x = max_pool(net.conv2d(x, 32, {.window = {5, 5}, .activation = with_relu}));
  x = net.dense(flatten(x), 128, {.activation = with_relu});
  const Value logits = net.dense(net.dropout(x, 0.1), 10);
  return {.loss = reduce_mean(sparse_softmax_cross_entropy(logits, labels)), .metrics = {accuracy(logits, labels)}};
}

Status run(const std::string& source, const std::string& devices) {
  data::DatasetOptions options{.image_size = 28, .channels = 1, .examples = 2000};
  ARGOSY_ASSIGN_OR_RETURN(const auto train, data::open_dataset(source, options));
  options.split = "test";
  ARGOSY_ASSIGN_OR_RETURN(const auto test, data::open_dataset(source, options));

  ARGOSY_ASSIGN_OR_RETURN(const auto trainer,
                          Trainer::make(lenet, {.optimizer = adam(LearningRate::cosine(2e-3, 1400)),
                                                .devices = {.devices = devices},
                                                .batch = 128,
                                                .epochs = 3,
                                                .checkpoint_dir = std::filesystem::temp_directory_path() / "mnist_run",
                                                .progress = [](const TrainProgress& p) {
                                                  for (const auto& [name, value] : p.evaluation)
                                                    std::printf("epoch %.0f  %s %.4f\n", p.epoch, name.c_str(), value);
                                                  return true;
                                                }}));
  ARGOSY_ASSIGN_OR_RETURN(const TrainReport report, trainer->fit(*train, test.get()));
  std::printf("%lld steps, %.0f samples/s, loss %.3f -> %.3f, saved as %s\n%s", static_cast<long long>(report.steps),
              report.samples_per_second, report.losses.front(), report.losses.back(), report.checkpoint.c_str(),
              report.verdict.to_string().c_str());
  // On real digits 0.99; made-up images only have to show that something is learned.
  if (report.losses.back() < report.losses.front() && !report.evaluation.empty()) return ok_status();
  return internal_error("nothing was learned");
}

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? argv[1] : "synthetic", argc > 2 ? argv[2] : "cpu:0");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
