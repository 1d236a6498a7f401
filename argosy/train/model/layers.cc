#include "argosy/train/model/layers.h"

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/conv/conv.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/shape/shape.h"

namespace argosy {

Layers::Layers(Graph& graph, const LayersOptions& options) : graph_(graph), options_(options) {}

DType Layers::compute_dtype() const { return options_.compute == DType::kInvalid ? options_.dtype : options_.compute; }

Value Layers::input(std::string_view name, DType dtype, const std::vector<std::int64_t>& example_shape) {
  std::vector<std::int64_t> sizes = {PartialShape::kUnknown};
  sizes.insert(sizes.end(), example_shape.begin(), example_shape.end());
  const Value x = placeholder(graph_, dtype, PartialShape(std::move(sizes)), name);
  inputs_.push_back({std::string(name), x});
  return is_floating(dtype) && dtype != compute_dtype() ? cast(x, compute_dtype()) : x;
}

std::int64_t Layers::next_seed() {
  // Spread over all bits, so that neither neighbouring layers nor neighbouring seeds share a stream.
  std::uint64_t mixed =
      options_.seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(++seeds_) * 0xD1B54A32D192ED03u;
  mixed ^= mixed >> 32;
  return static_cast<std::int64_t>(mixed & 0x7FFFFFFFu);
}

VariableNode Layers::variable(std::string_view name, const std::vector<std::int64_t>& shape,
                              const Initializer& initializer, bool trainable) {
  const Value initial = [&] {
    const auto scope = graph_.name_scope(str_cat(name, "/Initializer"));
    return initializer(graph_, Shape(std::span(shape)), options_.dtype, next_seed());
  }();
  VariableNode v = argosy::variable(initial, name);
  variables_.push_back(v);
  if (trainable) trainable_.push_back(v);
  return v;
}

Value Layers::value_of(const VariableNode& v) const {
  return v.dtype() == compute_dtype() ? v.read : cast(v.read, compute_dtype());
}

Value Layers::add_bias(Value y, int units, bool bias, const Activation& activation) {
  if (bias) y = bias_add(y, value_of(variable("bias", {units}, zeros_initializer())));
  return activation ? activation(y) : y;
}

namespace {

// The size of x's last axis, which a layer's kernel needs; fails the graph when it is not known.
std::int64_t channels_of(Value x, std::string_view layer) {
  if (!x.valid()) return 0;
  if (x.shape().rank() >= 1 && x.shape().sizes().back() > 0) return x.shape().sizes().back();
  x.graph().fail(invalid_argument(layer, ": the last size of ", x.name(), " must be known, its shape is ", x.shape()));
  return 0;
}

}  // namespace

Value Layers::dense(Value x, int units, const DenseOptions& options) {
  const std::int64_t in = channels_of(x, options.name);
  if (in == 0) return {};
  const auto scope = graph_.name_scope(options.name);
  const Value kernel = value_of(variable("kernel", {in, units}, options.kernel));
  if (x.shape().rank() <= 2) return add_bias(matmul(x, kernel), units, options.bias, options.activation);
  // Leading axes are folded into one: a plain matrix product is the fastest.
  const Value flat = add_bias(matmul(reshape(x, {-1, in}), kernel), units, options.bias, options.activation);
  std::vector<std::int64_t> sizes = x.shape().sizes();
  sizes.back() = units;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] < 0) graph_.fail(invalid_argument(options.name, ": only the batch of ", x.shape(), " may be unknown"));
  }
  sizes[0] = -1;
  return reshape(flat, sizes);
}

Value Layers::conv2d(Value x, int filters, const ConvOptions& options) {
  const std::int64_t in = channels_of(x, "conv2d");
  if (in == 0) return {};
  const auto scope = graph_.name_scope(options.name.empty() ? "conv2d" : options.name);
  const Value kernel =
      value_of(variable("kernel", {options.window[0], options.window[1], in, filters}, options.kernel));
  const Value y = argosy::conv2d(x, kernel, {.strides = options.strides, .padding = options.padding});
  return add_bias(y, filters, options.bias, options.activation);
}

Value Layers::conv2d_transpose(Value x, int filters, const ConvOptions& options) {
  const std::int64_t in = channels_of(x, "conv2d_transpose");
  if (in == 0) return {};
  const auto scope = graph_.name_scope(options.name.empty() ? "conv2d_transpose" : options.name);
  const Value kernel =
      value_of(variable("kernel", {options.window[0], options.window[1], filters, in}, options.kernel));
  const Value y = argosy::conv2d_transpose(x, kernel, {.strides = options.strides, .padding = options.padding});
  return add_bias(y, filters, options.bias, options.activation);
}

Value flatten(Value x) {
  if (!x.valid()) return x;
  std::int64_t elements = 1;
  for (int i = 1; i < x.shape().rank(); ++i) elements *= x.shape()[i];
  if (x.shape().rank() < 1 || elements < 0) {
    x.graph().fail(invalid_argument("flatten: only the batch of ", x.shape(), " may be unknown"));
    return {};
  }
  return reshape(x, {-1, elements}, "flatten");
}

}  // namespace argosy
