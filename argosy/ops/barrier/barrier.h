// Barriers: elements whose components come one by one, under a key, and leave once they are whole.
//
//   insert a: x ─┐                                  ready: a (x, y)
//   insert b: x ─┼─► barrier of two components ──►  incomplete: b (x, -)
//   insert a: y ─┘
//
// Whole elements leave in the order in which their keys first came. A barrier lives as a queue does
// (argosy/ops/queue/queue.h).
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// What a barrier's elements are.
struct BarrierSpec {
  std::vector<DType> dtypes = {};         // of the components
  std::vector<PartialShape> shapes = {};  // of all components, fully known
  std::string shared_name = {};           // "": the node's name; equal names share the barrier
};
// The handle of a barrier: elements are complete once all components of their key are there.
Value barrier(Graph& graph, const BarrierSpec& spec, std::string_view name = {});

// Component `component` of the elements of these keys, a row each. A control value.
Value barrier_insert_many(Value barrier, int component, Value keys, Value rows);

// Elements as rows. What each output is, `dtypes` being the barrier's.
struct BarrierElements {
  Value indices, keys;            // int64 order of arrival, and strings, [n] each
  std::vector<Value> components;  // [n, ...] each
};
// Waits until so many are whole; with `allow_small_batch` takes what there is once the barrier is closed.
BarrierElements barrier_take_many(Value barrier, Value count, const std::vector<DType>& dtypes,
                                  bool allow_small_batch = false);

// No more keys; with `cancel_pending`, what is incomplete goes. A control value.
Value close_barrier(Value barrier, bool cancel_pending = false);
Value barrier_ready_size(Value barrier);       // complete elements; int32 scalar
Value barrier_incomplete_size(Value barrier);  // elements that lack a component; int32 scalar

}  // namespace argosy
