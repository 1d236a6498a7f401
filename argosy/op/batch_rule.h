// BatchRule: how an op treats the examples of a batch, stated in its definition (OpSpec::batch_rule).
#pragma once

namespace argosy {

// Elementwise ops (OpSpec::elementwise) need not say anything: they are kPerExample.
enum class BatchRule : char {
  kUnknown,     // nobody has said: a step that uses it on a batch's rows runs on one device, by name
  kPerExample,  // row i of an output, along the batch's axis, is made of rows i of the inputs alone
};

}  // namespace argosy
