// Activations of neural networks, as tf.nn has them, and the bias before them. Sigmoid, tanh and softsign are
// elementwise functions (argosy/ops/elementwise).
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

Value relu(Value x, std::string_view name = "Relu");    // max(x, 0)
Value relu6(Value x, std::string_view name = "Relu6");  // min(max(x, 0), 6)
Value elu(Value x, std::string_view name = "Elu");      // x, or exp(x) - 1 below 0
Value selu(Value x, std::string_view name = "Selu");    // elu, scaled to keep mean and variance
Value leaky_relu(Value x, float alpha = 0.2f, std::string_view name = "LeakyRelu");  // x, or alpha * x below 0
Value softplus(Value x, std::string_view name = "Softplus");                         // log(exp(x) + 1)
Value gelu(Value x, bool approximate = false);  // x * P(standard normal <= x); approximate: by tanh
Value swish(Value x);                           // x * sigmoid(x)

// x + bias, with one bias per channel. Channels are the last axis, or the second one for "NCHW".
Value bias_add(Value x, Value bias, std::string_view data_format = "NHWC", std::string_view name = "BiasAdd");

}  // namespace argosy
