#include "argosy/ops/activation/activation.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/models/models.h"

namespace argosy::models {

ModelBuilder transformer(const TransformerOptions& options) {
  return [options](Layers& net) {
    const Value tokens = net.input("tokens", DType::kInt32, {options.length});
    const Value sorted = net.input("sorted", DType::kInt32, {options.length});
    const Value places =
        net.value_of(net.variable("positions", {options.length, options.width}, normal_initializer(0.02)));
    Value x = net.embedding(tokens, options.vocabulary, options.width) + places;
    for (int layer = 0; layer < options.layers; ++layer) {
      const auto scope = net.graph().name_scope(str_cat("layer_", layer));
      const Value mixed = net.self_attention(net.layer_norm(x), {.heads = options.heads});
      x = x + net.dropout(mixed, options.dropout);
      const Value wide =
          net.dense(net.layer_norm(x), 4 * options.width, {.activation = [](Value v) { return relu(v); }});
      x = x + net.dropout(net.dense(wide, options.width), options.dropout);
    }
    const Value logits =
        reshape(net.dense(net.layer_norm(x), options.vocabulary, {.name = "tokens_out"}), {-1, options.vocabulary});
    const Value wanted = reshape(sorted, {-1});
    return Model{.loss = reduce_mean(sparse_softmax_cross_entropy(logits, wanted)),
                 .metrics = {accuracy(logits, wanted)}};
  };
}

}  // namespace argosy::models
