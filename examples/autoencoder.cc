// A convolutional auto-encoder on one device and on two: `devices` is all that changes. Both see the same batches and
// the losses agree.
#include <argosy/argosy.h>

#include <cmath>
#include <cstdio>

using namespace argosy;

Model autoencoder(Layers& net) {
  const auto with_relu = [](Value v) { return relu(v); };
  const Value images = net.input("image", DType::kFloat32, {32, 32, 3});
  Value x = images;
  for (const int filters : {8, 16, 32}) x = max_pool(net.conv2d(x, filters, {.activation = with_relu}));
  for (const int filters : {32, 16, 8}) {
    x = net.conv2d_transpose(x, filters, {.strides = {2, 2}, .activation = with_relu});
  }
  const Value y = net.conv2d(x, 3);
  return {.loss = summed_squared_error(y, images), .sample_images = {{"input", images}, {"reconstruction", y}}};
}

Result<TrainReport> train(const std::string& devices) {
  ARGOSY_ASSIGN_OR_RETURN(const auto dataset, data::open_dataset("synthetic", {.image_size = 32, .examples = 500}));
  ARGOSY_ASSIGN_OR_RETURN(
      const auto trainer,
      Trainer::make(
          autoencoder,
          {.optimizer = adam(2e-3), .devices = {.devices = devices, .emulate = "2"}, .batch = 16, .steps = 30}));
  return trainer->fit(*dataset);
}

int main() {
  const auto one = train("gpu:0");
  const auto two = train("gpu:0,gpu:1");
  for (const auto* report : {&one, &two}) {
    if (!report->ok()) return std::fprintf(stderr, "%s\n", report->status().to_string().c_str()), 1;
    std::printf("%zu devices: loss %.4f -> %.4f, %.0f samples/s\n", (*report)->devices.size(),
                (*report)->losses.front(), (*report)->losses.back(), (*report)->samples_per_second);
  }
  std::printf("%s\n%s", two->strategy.c_str(), two->verdict.to_string().c_str());
  double apart = 0;
  for (std::size_t i = 0; i < one->losses.size(); ++i) {
    apart = std::max(apart, std::abs(one->losses[i] - two->losses[i]) / one->losses[i]);
  }
  std::printf("losses differ by at most %.1e\n", apart);
  return apart < 1e-3 && one->losses.back() < one->losses.front() ? 0 : 1;
}
