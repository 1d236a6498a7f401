// Queues: steps that run at once hand elements to each other. An enqueue waits for room, a dequeue for elements,
// without holding a thread; closing lets those that wait for more end with OUT_OF_RANGE.
//
// An element is one tensor per component. A queue lives on its device by its shared name, or, without one, as long as
// the session.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// What a queue's elements are, and how many it holds.
struct QueueSpec {
  std::vector<DType> dtypes = {};         // of the components
  std::vector<PartialShape> shapes = {};  // of the components; empty: any, and then no dequeue_many
  std::int64_t capacity = -1;             // elements; -1: no limit
  std::string shared_name = {};           // "": the node's name; equal names share the queue
};

// Gives elements in the order in which they came.
Value fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});
// Gives elements in random order; until it is closed `min_after_dequeue` of them stay, to be mixed. Both seeds 0: left
// to chance.
Value random_shuffle_queue(Graph& graph, const QueueSpec& spec, std::int64_t min_after_dequeue, std::int64_t seed = 0,
                           std::int64_t seed2 = 0, std::string_view name = {});
// Shapes may have unknown sizes: a batch is as large as its largest element, the rest filled with zeros.
Value padding_fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});
// `spec` is of the components after the first, an int64 scalar: the least of these comes first.
Value priority_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});

// Control values: they are done when the queue has taken the element.
Value enqueue(Value queue, const std::vector<Value>& components);
Value enqueue_many(Value queue, const std::vector<Value>& rows);  // an element per row
// One value per component, of these dtypes.
std::vector<Value> dequeue(Value queue, const std::vector<DType>& dtypes);
// N elements as one batch; waits until there are n.
std::vector<Value> dequeue_many(Value queue, Value n, const std::vector<DType>& dtypes);
std::vector<Value> dequeue_up_to(Value queue, Value n, const std::vector<DType>& dtypes);  // fewer once it is closed
// Nothing more is put in; what is there may be taken. A control value.
Value close_queue(Value queue, bool cancel_pending_enqueues = false);
Value queue_size(Value queue);       // int32 scalar
Value queue_is_closed(Value queue);  // bool scalar

}  // namespace argosy
