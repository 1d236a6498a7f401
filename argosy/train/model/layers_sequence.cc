// Layers over sequences: embedding and attention.
#include <cmath>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/train/model/layers.h"

namespace argosy {

Value Layers::embedding(Value indices, std::int64_t vocabulary, int width, std::string_view name) {
  if (!indices.valid()) return {};
  const auto scope = graph_.name_scope(name);
  const VariableNode table = variable("embeddings", {vocabulary, width}, uniform_initializer(-0.05, 0.05));
  return graph_.add("GatherV2", {value_of(table), indices, constant(graph_, std::int32_t{0})});
}

Value Layers::self_attention(Value x, const AttentionOptions& options) {
  if (!x.valid()) return {};
  if (x.shape().rank() != 3 || x.shape()[1] < 0 || x.shape()[2] < 0 || options.heads < 1 ||
      x.shape()[2] % options.heads != 0) {
    graph_.fail(invalid_argument(options.name,
                                 ": takes [batch, time, width] with time and width known and width a "
                                 "multiple of its ",
                                 options.heads, " heads, not ", x.shape()));
    return {};
  }
  const std::int64_t time = x.shape()[1], width = x.shape()[2], depth = width / options.heads;
  const auto scope = graph_.name_scope(options.name);
  const auto heads = [&](std::string_view name) {
    const Value projected = dense(x, static_cast<int>(width), {.name = std::string(name)});
    return transpose(reshape(projected, {-1, time, options.heads, depth}), {0, 2, 1, 3});
  };
  const Value query = heads("query"), key = heads("key"), value = heads("value");
  const Value scores = matmul(query, key, {.transpose_b = true}) * (1 / std::sqrt(static_cast<double>(depth)));
  const Value mixed = matmul(graph_.add("Softmax", {scores}), value);
  const Value joined = reshape(transpose(mixed, {0, 2, 1, 3}), {-1, time, width});
  return dense(joined, static_cast<int>(width), {.name = "output"});
}

}  // namespace argosy
