#include "argosy/ops/activation/activation.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/pool/pool.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/train/models/classify.h"
#include "argosy/train/models/models.h"

namespace argosy::models {

namespace {

// Convolution, batch norm, ReLU if wanted.
Value conv_norm(Layers& net, Value x, int filters, std::int64_t window, std::int64_t stride, bool with_relu) {
  x = net.conv2d(x, filters,
                 {.window = {window, window}, .strides = {stride, stride}, .bias = false, .kernel = he_normal()});
  x = net.batch_norm(x, {.momentum = 0.9, .epsilon = 1e-5});
  return with_relu ? relu(x) : x;
}

// The shortcut of a block, in the block's shape.
Value shortcut(Layers& net, Value x, int filters, std::int64_t stride) {
  if (!x.valid() || (x.shape().sizes().back() == filters && stride == 1)) return x;
  return conv_norm(net, x, filters, 1, stride, false);
}

Value basic_block(Layers& net, Value x, int filters, std::int64_t stride) {
  const Value y = conv_norm(net, conv_norm(net, x, filters, 3, stride, true), filters, 3, 1, false);
  return relu(y + shortcut(net, x, filters, stride));
}

Value bottleneck(Layers& net, Value x, int filters, std::int64_t stride) {
  Value y = conv_norm(net, x, filters, 1, 1, true);
  y = conv_norm(net, y, filters, 3, stride, true);
  y = conv_norm(net, y, 4 * filters, 1, 1, false);
  return relu(y + shortcut(net, x, 4 * filters, stride));
}

Value small_resnet(Layers& net, Value x, int blocks) {
  x = conv_norm(net, x, 16, 3, 1, true);
  for (int stage = 0; stage < 3; ++stage) {
    for (int block = 0; block < blocks; ++block) {
      x = basic_block(net, x, 16 << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return x;
}

Value resnet_50(Layers& net, Value x) {
  x = max_pool(conv_norm(net, x, 64, 7, 2, true), {.window = {3, 3}, .strides = {2, 2}, .padding = "SAME"});
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      x = bottleneck(net, x, 64 << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return x;
}

}  // namespace

ModelBuilder resnet(const ClassifierOptions& options, int layers, double weight_decay) {
  return [=](Layers& net) -> Model {
    const bool small = layers >= 8 && (layers - 2) % 6 == 0;
    if (!small && layers != 50) {
      net.graph().fail(invalid_argument("resnet: there is no ResNet of ", layers, " layers")
                           .with_id("ARG-MODEL-001")
                           .with_hint("--layers 20, 32, 44, 56 (small images) or 50 (large ones)"));
      return {};
    }
    Value x = image_input(net, options);
    // 50 = 6 * 8 + 2 is both: large images tell.
    x = layers == 50 && options.image_size > 64 ? resnet_50(net, x) : small_resnet(net, x, (layers - 2) / 6);
    Model model = classify(net, net.dense(reduce_mean(x, {1, 2}), options.classes));
    if (net.training() && weight_decay > 0) {
      std::vector<Value> norms;
      for (const VariableNode& v : net.trainable()) {
        if (v.shape().rank() > 1) norms.push_back(l2_loss(v.read));
      }
      model.loss = model.loss + net.graph().add("AddN", norms) * weight_decay;
    }
    return model;
  };
}

}  // namespace argosy::models
