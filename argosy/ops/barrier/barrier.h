// Barriers: stores of elements by key. Components of an element are inserted one by one; a complete element can be
// taken.
//
//   insert a: x ─┐                                  ready: a (x, y)
//   insert b: x ─┼─► barrier of two components ──►  incomplete: b (x, -)
//   insert a: y ─┘
//
// Complete elements are taken in the order in which their keys were first inserted. A barrier has the lifetime of a
// queue (argosy/ops/queue/queue.h).
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The attributes of a barrier.
struct BarrierSpec {
  std::vector<DType> dtypes = {};         // of the components
  std::vector<PartialShape> shapes = {};  // of all components, fully known
  std::string shared_name = {};           // "": the node's name; equal names share the barrier
};
// Returns the handle of a barrier. An element is complete once all components of its key have been inserted.
Value barrier(Graph& graph, const BarrierSpec& spec, std::string_view name = {});

// Inserts component `component` of the elements with these keys, one row per key. Returns a control value.
Value barrier_insert_many(Value barrier, int component, Value keys, Value rows);

// Elements taken from a barrier, one per row.
struct BarrierElements {
  Value indices, keys;            // int64 order of arrival, and strings, [n] each
  std::vector<Value> components;  // [n, ...] each
};
// Waits until `count` elements are complete, and takes them. With `allow_small_batch` it takes fewer once the barrier
// is closed. `dtypes`: those of the barrier's components.
BarrierElements barrier_take_many(Value barrier, Value count, const std::vector<DType>& dtypes,
                                  bool allow_small_batch = false);

// Closes the barrier to new keys. With `cancel_pending` it also drops the incomplete elements. Returns a control value.
Value close_barrier(Value barrier, bool cancel_pending = false);
Value barrier_ready_size(Value barrier);       // complete elements; int32 scalar
Value barrier_incomplete_size(Value barrier);  // elements that lack a component; int32 scalar

}  // namespace argosy
