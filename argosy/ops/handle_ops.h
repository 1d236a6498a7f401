// Ops on a handle (of a queue, a table, a reader …), which TensorFlow has in two forms:
//
//   QueueSize    handle: Ref(string)   by reference: the handle is a vector of two strings, container and name
//   QueueSizeV2  handle: resource      by resource: the handle is a scalar
#pragma once

#include "argosy/ops/op_rows.h"

namespace argosy {

// Sets output 0 to the shape of a handle by reference: [2].
Status ref_handle_shape(ShapeContext& c);

// OK if input 0 may be a handle by reference, of shape [2].
Status check_ref_handle(ShapeContext& c);

// Returns `row` with handles of another type: "queue: resource" becomes "queue: <type>" in inputs and outputs.
OpRow with_handles_as(OpRow row, std::string_view type);

// An op in both forms. `op` is the form by resource, under the name of the form by reference: "QueueSize".
struct HandleOpRow {
  OpRow op;
  ShapeFn ref_shape;  // shape function of the form by reference; null: there is no such form
};

// Defines both forms of every row, by resource first. The form by resource is stateful; the form by reference accepts
// a handle that has no value yet. `shared.in_host_memory` goes to the form by resource alone.
void add_handle_rows(OpRegistry& ops, const std::vector<HandleOpRow>& rows, const OpFacts& shared);

}  // namespace argosy
