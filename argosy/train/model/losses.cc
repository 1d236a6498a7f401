#include "argosy/train/model/losses.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/select/select.h"

namespace argosy {

namespace {

// 16-bit logits lose too much in a log and an exp: losses are float32 at least.
Value widened(Value x) {
  if (!x.valid()) return x;
  return x.dtype() == DType::kBfloat16 || x.dtype() == DType::kFloat16 ? cast(x, DType::kFloat32) : x;
}

// False, and an error of the graph, where the shapes of prediction and target differ: they would broadcast, and the loss
// would compare each row with every other.
bool same_shapes(std::string_view loss, Value prediction, Value target) {
  if (!prediction.valid() || !target.valid()) return false;
  if (prediction.shape().compatible(target.shape())) return true;
  prediction.graph().fail(invalid_argument(loss, ": '", prediction.name(), "' has shape ", prediction.shape(), ", '",
                                           target.name(), "' ", target.shape(), ": both must have the same shape")
                              .with_hint("reshape() one of them to the shape of the other; a loss does not broadcast"));
  return false;
}

Value like(Value x, Value other) { return x.valid() && other.valid() ? cast(x, other.dtype()) : Value(); }

}  // namespace

Value sparse_softmax_cross_entropy(Value logits, Value labels) {
  if (!logits.valid()) return {};
  return logits.graph().add("SparseSoftmaxCrossEntropyWithLogits", {widened(logits), labels});
}

Value softmax_cross_entropy(Value logits, Value labels) {
  if (!same_shapes("softmax_cross_entropy", logits, labels)) return {};
  const Value wide = widened(logits);
  return logits.graph().add("SoftmaxCrossEntropyWithLogits", {wide, like(labels, wide)});
}

Value sigmoid_cross_entropy(Value logits, Value labels) {
  if (!same_shapes("sigmoid_cross_entropy", logits, labels)) return {};
  const Value x = widened(logits), z = like(labels, x);
  // max(x, 0) - x * z + log(1 + exp(-|x|)): no overflow on either side.
  return maximum(x, 0) - x * z + log1p(exp(-abs(x)));
}

Value mean_squared_error(Value prediction, Value target) {
  if (!same_shapes("mean_squared_error", prediction, target)) return {};
  const Value p = widened(prediction);
  return reduce_mean(square(p - like(target, p)));
}

Value mean_absolute_error(Value prediction, Value target) {
  if (!same_shapes("mean_absolute_error", prediction, target)) return {};
  const Value p = widened(prediction);
  return reduce_mean(abs(p - like(target, p)));
}

Value huber_loss(Value prediction, Value target, double delta) {
  if (!same_shapes("huber_loss", prediction, target)) return {};
  const Value p = widened(prediction);
  const Value error = abs(p - like(target, p));
  const Value quadratic = minimum(error, delta);
  return reduce_mean(0.5 * square(quadratic) + delta * (error - quadratic));
}

namespace {

// sum of squares over these axes / elements of one example.
Value squares(std::string_view loss, Value prediction, Value target, bool batch_too) {
  if (!same_shapes(loss, prediction, target)) return {};
  const Value p = widened(prediction);
  double elements = 1;
  std::vector<int> axes;
  if (batch_too) axes.push_back(0);
  for (int i = 1; i < p.shape().rank(); ++i) {
    elements *= static_cast<double>(p.shape()[i]);
    axes.push_back(i);
  }
  if (p.shape().rank() < 1 || elements < 0) {
    p.graph().fail(invalid_argument("squared error: only the batch of ", p.shape(), " may be unknown"));
    return {};
  }
  return reduce_sum(square(p - like(target, p)), axes) / elements;
}

}  // namespace

Value summed_squared_error(Value prediction, Value target) {
  return squares("summed_squared_error", prediction, target, true);
}
Value squared_errors(Value prediction, Value target) { return squares("squared_errors", prediction, target, false); }

}  // namespace argosy
