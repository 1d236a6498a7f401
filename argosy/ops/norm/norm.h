// Normalisation: batch, layer, local response, L2; moments; and dropout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The results of fused batch normalisation.
struct BatchNorm {
  Value y;               // normalised, of the shape of x
  Value mean, variance;  // while training the batch's (variance with Bessel's correction), else the given ones
};
// Options of fused_batch_norm().
struct BatchNormOptions {
  Value mean = {}, variance = {};    // running statistics: needed when not training, or with a factor below 1
  float epsilon = 0.001f;            // added to the variance
  float exponential_avg_factor = 1;  // mean = (1 - factor) * running mean + factor * batch mean; likewise variance
  bool is_training = true;           // true: use the batch's statistics; false: use `mean` and `variance`
  std::string data_format = "NHWC";  // or "NCHW"
};
// scale * (x - mean) / sqrt(variance + epsilon) + offset for every channel of images [batch, height, width, channels].
// While training, gradients flow through y only, as in TensorFlow.
BatchNorm fused_batch_norm(Value x, Value scale, Value offset, const BatchNormOptions& options = {},
                           std::string_view name = "FusedBatchNorm");

// The same as separate ops, for any shapes that broadcast: tf.nn.batch_normalization. Offset and scale may be invalid
// Values: none.
Value batch_normalization(Value x, Value mean, Value variance, Value offset, Value scale, float epsilon = 0.001f);

// scale * (x - mean) / sqrt(variance + epsilon) + offset, over the last axis; scale and offset have its size.
Value layer_norm(Value x, Value scale, Value offset, float epsilon = 1e-5f, std::string_view name = "LayerNorm");

// Mean and variance over some axes.
struct Moments {
  Value mean, variance;  // without Bessel's correction
};
// Mean and (biased) variance over axes.
Moments moments(Value x, const std::vector<std::int32_t>& axes, bool keep_dims = false);

// x / sqrt(max(sum over the axes of x^2, epsilon))
Value l2_normalize(Value x, const std::vector<std::int32_t>& axes, float epsilon = 1e-12f);

// x / (bias + alpha * sum of squares over depth_radius channels to either side) ^ beta
Value local_response_normalization(Value x, int depth_radius = 5, float bias = 1, float alpha = 1, float beta = 0.5f);

// Each element becomes 0 with probability `rate`, else it is multiplied by 1 / (1 - rate). Seed 0: a random seed.
Value dropout(Value x, float rate, std::int64_t seed = 0, std::string_view name = "dropout");

}  // namespace argosy
