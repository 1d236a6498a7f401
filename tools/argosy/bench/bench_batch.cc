#include "tools/argosy/bench/bench_batch.h"

namespace argosy::cli {

std::vector<Tensor> made_up_batch(const std::vector<Layers::Input>& inputs, std::int64_t batch) {
  std::vector<Tensor> feeds;
  std::uint64_t state = 1;
  for (const Layers::Input& input : inputs) {
    std::vector<std::int64_t> sizes = input.placeholder.shape().sizes();
    sizes[0] = batch;
    Tensor t = Tensor::zeros(input.placeholder.dtype(), Shape(std::span<const std::int64_t>(sizes)));
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      if (t.dtype() == DType::kInt32) {
        t.data<std::int32_t>()[i] = static_cast<std::int32_t>((state >> 40) % 10);
      } else {
        t.data<float>()[i] = static_cast<float>(state >> 40) * 0x1p-24f;
      }
    }
    feeds.push_back(std::move(t));
  }
  return feeds;
}

}  // namespace argosy::cli
