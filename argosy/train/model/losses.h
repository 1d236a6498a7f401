// Losses over batches of examples. A loss "per example" has one number per row; reduce_mean or reduce_sum makes it the
// loss of the batch. That reduction also says how the shards of the batch combine.
//
// Prediction and target (logits and labels) have the same shape. Nothing broadcasts: shapes that cannot be equal are
// INVALID_ARGUMENT. Sizes that are not known when the graph is built are not checked.
#pragma once

#include "argosy/graph/graph.h"

namespace argosy {

// -log softmax(logits)[label], per example. `labels`: class numbers, one per row of logits.
Value sparse_softmax_cross_entropy(Value logits, Value labels);
// -sum(p * log softmax(logits)), per example. `labels`: a distribution p per row.
Value softmax_cross_entropy(Value logits, Value labels);
// Cross-entropy of independent binary labels in [0, 1], per element.
Value sigmoid_cross_entropy(Value logits, Value labels);

// The mean over all elements.
Value mean_squared_error(Value prediction, Value target);
Value mean_absolute_error(Value prediction, Value target);  // of |prediction - target|; scalar
// Quadratic up to `delta`, a straight line beyond; the mean over all elements.
Value huber_loss(Value prediction, Value target, double delta = 1);
// The sum over the batch of each example's mean squared error: sum((p - t)^2) / elements of one example.
Value summed_squared_error(Value prediction, Value target);

// The terms of summed_squared_error(): one number per example.
Value squared_errors(Value prediction, Value target);

}  // namespace argosy
