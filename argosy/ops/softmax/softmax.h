// Softmax and the losses built on it, as tf.nn has them.
#pragma once

#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// exp(x) / sum(exp(x)) along the last axis.
Value softmax(Value x, std::string_view name = "Softmax");
Value log_softmax(Value x, std::string_view name = "LogSoftmax");  // log(softmax(x)), without overflow

// -sum(labels * log(softmax(logits))) along the last axis: one loss a row. Labels are probabilities, and
// differentiable.
Value softmax_cross_entropy_with_logits(Value labels, Value logits, std::string_view name = "cross_entropy");
// The same where labels are class numbers: their rank is one less than that of logits.
Value sparse_softmax_cross_entropy_with_logits(Value labels, Value logits, std::string_view name = "cross_entropy");

}  // namespace argosy
