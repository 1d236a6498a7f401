#include "argosy/ops/activation/activation.h"
#include "argosy/ops/pool/pool.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/train/model/losses.h"
#include "argosy/train/models/classify.h"
#include "argosy/train/models/models.h"

namespace argosy::models {

Value image_input(Layers& net, const ClassifierOptions& options) {
  return net.input("image", DType::kFloat32, {options.image_size, options.image_size, options.channels});
}

Model classify(Layers& net, Value logits) {
  const Value labels = net.input("label", DType::kInt32, {});
  return {.loss = reduce_mean(sparse_softmax_cross_entropy(logits, labels)), .metrics = {accuracy(logits, labels)}};
}

ModelBuilder mlp(const ClassifierOptions& options, int hidden, int last) {
  return [=](Layers& net) {
    const DenseOptions layer{.activation = [](Value v) { return relu(v); }};
    Value x = net.dropout(net.dense(flatten(image_input(net, options)), hidden, layer), options.dropout);
    x = net.dropout(net.dense(x, last > 0 ? last : hidden, layer), options.dropout);
    return classify(net, net.dense(x, options.classes));
  };
}

ModelBuilder lenet(const ClassifierOptions& options) {
  return [=](Layers& net) {
    const auto with_relu = [](Value v) { return relu(v); };
    const ConvOptions conv{.window = {5, 5}, .activation = with_relu};
    Value x = max_pool(net.conv2d(image_input(net, options), 32, conv), {.padding = "SAME"});
    x = max_pool(net.conv2d(x, 64, conv), {.padding = "SAME"});
    x = net.dropout(net.dense(flatten(x), 1024, {.activation = with_relu}), options.dropout);
    return classify(net, net.dense(x, options.classes));
  };
}

}  // namespace argosy::models
