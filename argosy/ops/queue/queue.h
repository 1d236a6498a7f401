// Queues: concurrent steps pass elements to each other through them. An enqueue waits for room, and a dequeue for
// elements, without blocking a thread. Once the queue is closed, a dequeue of more elements than are left ends with
// OUT_OF_RANGE.
//
// An element is one tensor per component. A queue lives on its device by its shared name, or, without one, as long as
// the session.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The elements and the capacity of a queue.
struct QueueSpec {
  std::vector<DType> dtypes = {};  // of the components
  // Of the components; empty: any shape, and dequeue_many is not possible. A scalar is PartialShape::scalar().
  std::vector<PartialShape> shapes = {};
  std::int64_t capacity = -1;    // elements; -1: no limit
  std::string shared_name = {};  // "": the node's name; equal names share the queue
};

// A queue that is first in, first out.
Value fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});
// A queue that returns elements in random order. Until it is closed, at least `min_after_dequeue` elements stay in it,
// to be shuffled with later ones. Both seeds 0: random seeds.
Value random_shuffle_queue(Graph& graph, const QueueSpec& spec, std::int64_t min_after_dequeue, std::int64_t seed = 0,
                           std::int64_t seed2 = 0, std::string_view name = {});
// A FIFO queue whose shapes may have unknown sizes: smaller elements of a batch are padded with zeros to the largest.
Value padding_fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});
// A queue that returns the element with the least priority number first. The priority is an int64 scalar, the first
// component of an element; `spec` describes the components after it.
Value priority_queue(Graph& graph, const QueueSpec& spec, std::string_view name = {});

// Each returns a control value, which is done when the queue has taken the elements.
Value enqueue(Value queue, const std::vector<Value>& components);
Value enqueue_many(Value queue, const std::vector<Value>& rows);  // an element per row
// One value per component, of these dtypes.
std::vector<Value> dequeue(Value queue, const std::vector<DType>& dtypes);
// n elements as one batch. dequeue_many() waits until there are n.
std::vector<Value> dequeue_many(Value queue, Value n, const std::vector<DType>& dtypes);
std::vector<Value> dequeue_up_to(Value queue, Value n, const std::vector<DType>& dtypes);  // fewer once it is closed
// Closes the queue: later enqueues fail, and the elements in it can still be dequeued. Returns a control value.
Value close_queue(Value queue, bool cancel_pending_enqueues = false);
Value queue_size(Value queue);       // int32 scalar
Value queue_is_closed(Value queue);  // bool scalar

}  // namespace argosy
