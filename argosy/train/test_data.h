// A small dataset for tests: points in the plane, labelled with one of three sectors.
#pragma once

#include <cmath>
#include <vector>

#include "argosy/data/dataset.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/model/model.h"

namespace argosy {

class Sectors final : public data::Dataset {
 public:
  explicit Sectors(std::int64_t examples) : examples_(examples) {}
  std::int64_t size() const override { return examples_; }
  std::span<const data::Component> components() const override { return components_; }
  int classes() const override { return 3; }
  std::string describe() const override { return str_cat("sectors, ", examples_, " examples"); }

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const double angle = 2.399963 * static_cast<double>(indices[row]);  // the golden angle: spread evenly
      to[0].data<float>()[2 * row] = static_cast<float>(std::cos(angle));
      to[0].data<float>()[2 * row + 1] = static_cast<float>(std::sin(angle));
      const double turn = std::fmod(angle, 6.283185307);
      to[1].data<std::int32_t>()[row] = static_cast<std::int32_t>(turn / 2.094395103) % 3;
    }
    return ok_status();
  }

 private:
  const std::int64_t examples_;
  const std::vector<data::Component> components_{{"point", DType::kFloat32, {2}}, {"label", DType::kInt32, {}}};
};

inline ModelBuilder sector_model(int width = 16, double dropout = 0) {
  return [=](Layers& net) {
    const Value points = net.input("point", DType::kFloat32, {2});
    const Value labels = net.input("label", DType::kInt32, {});
    Value x = net.dense(points, width, {.activation = [](Value v) { return relu(v); }});
    x = net.dropout(x, dropout);
    const Value logits = net.dense(x, 3);
    return Model{.loss = reduce_mean(sparse_softmax_cross_entropy(logits, labels)),
                 .metrics = {accuracy(logits, labels)}};
  };
}

}  // namespace argosy
