#include "argosy/ops/queue/queue.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/handle_ops.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

using Shapes = std::vector<PartialShape>;
using DTypes = std::vector<DType>;

// --- shapes ----------------------------------------------------------------------------------------------------------

Status handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::scalar());
  const auto& dtypes = c.attrs().get<DTypes>("component_types");
  const auto& shapes = c.attrs().get<Shapes>("shapes");
  if (dtypes.empty() || shapes.size() != dtypes.size()) return ok_status();
  HandleFact queue{dtypes[0], shapes[0]};
  for (std::size_t i = 1; i < dtypes.size(); ++i) queue.more.push_back({dtypes[i], shapes[i]});
  c.set_handle(0, std::move(queue));
  return ok_status();
}

// The shape of every component, unknown where nothing is known of the queue.
Shapes element_shapes(const ShapeContext& c) {
  Shapes shapes(static_cast<std::size_t>(c.num_outputs()));
  const HandleFact* queue = c.handle(0);
  if (queue == nullptr || queue->more.size() + 1 != shapes.size()) return shapes;
  shapes[0] = queue->shape;
  for (std::size_t i = 1; i < shapes.size(); ++i) shapes[i] = queue->more[i - 1].shape;
  return shapes;
}

Status dequeue_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  const Shapes shapes = element_shapes(c);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<std::size_t>(i)]);
  return ok_status();
}

Status batch_shape(ShapeContext& c, bool of_n) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  const std::optional<std::int64_t> n = c.input_as_int(1);
  if (n && *n < 0) return invalid_argument(c.op().name, ": Input 'n' must be >= 0, but is ", *n);
  const Shapes shapes = element_shapes(c);
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& element = shapes[static_cast<std::size_t>(i)];
    if (!element.has_rank()) continue;
    std::vector<std::int64_t> sizes = element.sizes();
    sizes.insert(sizes.begin(), of_n ? n.value_or(PartialShape::kUnknown) : PartialShape::kUnknown);
    c.set_output(i, PartialShape(std::move(sizes)));
  }
  return ok_status();
}
Status dequeue_many_shape(ShapeContext& c) { return batch_shape(c, true); }
Status dequeue_up_to_shape(ShapeContext& c) { return batch_shape(c, false); }

Status old_batch_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return c.with_rank(1, 0).status();
}

Status handle_only(ShapeContext& c) { return c.with_rank(0, 0).status(); }

Status told_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return scalar_output(c);
}

Status old_told_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_ref_handle(c));
  return scalar_output(c);
}

// --- definitions -----------------------------------------------------------------------------------------------------

void define_handles(OpRegistry& ops) {
  struct Handle {
    std::string name;
    const char* doc;
    std::vector<std::string> more = {};
  };
  const Handle handles[] = {
      {"FIFOQueue", "A queue, first in, first out."},
      {"RandomShuffleQueue",
       "A queue that gives its elements in random order.",
       {"min_after_dequeue: int = 0", "seed: int = 0", "seed2: int = 0"}},
      {"PaddingFIFOQueue", "A queue whose batches are padded to their largest element."},
      {"PriorityQueue", "A queue that gives the element with the least first component."},
  };
  for (const Handle& handle : handles) {
    const bool priority = handle.name == "PriorityQueue";
    std::vector<std::string> attrs = {
        priority ? "component_types: list(type) >= 0 = []" : "component_types: list(type) >= 1",
        priority ? "shapes: list(shape) >= 0" : "shapes: list(shape) >= 0 = []", "capacity: int = -1",
        "container: string = ''", "shared_name: string = ''"};
    attrs.insert(attrs.end(), handle.more.begin(), handle.more.end());
    for (const bool old : {false, true}) {
      ops.add({.name = handle.name + (old ? "" : "V2"),
               .doc = handle.doc,
               .outputs = {old ? "handle: Ref(string)" : "handle: resource"},
               .attrs = attrs,
               .shape = old        ? ref_handle_shape
                        : priority ? scalar_output
                                   : handle_shape,
               .gradient = kNotDifferentiable,
               .cost = free_cost,
               .stateful = true,
               .cpu_only = true,
               .in_host_memory = !old});
    }
  }
}

std::vector<HandleOpRow> rows() {
  const std::string wait = "timeout_ms: int = -1";
  const std::string in = "Tcomponents: list(type) >= 1", out = "component_types: list(type) >= 1";
  return {
      {{"QueueEnqueue",
        "Adds one element.",
        {"handle: resource", "components: Tcomponents"},
        {},
        {in, wait},
        handle_only,
        {.async = true}},
       no_output},
      {{"QueueEnqueueMany",
        "Adds an element per row.",
        {"handle: resource", "components: Tcomponents"},
        {},
        {in, wait},
        handle_only,
        {.async = true}},
       no_output},
      {{"QueueDequeue",
        "Takes one element.",
        {"handle: resource"},
        {"components: component_types"},
        {out, wait},
        dequeue_shape,
        {.async = true}},
       check_ref_handle},
      {{"QueueDequeueMany",
        "Takes n elements, as rows.",
        {"handle: resource", "n: int32"},
        {"components: component_types"},
        {out, wait},
        dequeue_many_shape,
        {.async = true}},
       old_batch_shape},
      {{"QueueDequeueUpTo",
        "Takes n elements, or, from a closed queue, what is left, as rows.",
        {"handle: resource", "n: int32"},
        {"components: component_types"},
        {out, wait},
        dequeue_up_to_shape,
        {.async = true}},
       old_batch_shape},
      {{"QueueClose",
        "Lets no more elements in.",
        {"handle: resource"},
        {},
        {"cancel_pending_enqueues: bool = false"},
        handle_only,
        {.async = true}},
       no_output},
      {{"QueueIsClosed",
        "Whether it lets no more elements in.",
        {"handle: resource"},
        {"is_closed: bool"},
        {},
        told_shape},
       old_told_shape},
      {{"QueueSize", "How many elements there are.", {"handle: resource"}, {"size: int32"}, {}, told_shape},
       old_told_shape},
  };
}

}  // namespace

static void add_queue_ops(OpRegistry& ops) {
  define_handles(ops);
  add_handle_rows(ops, rows(), {.cost = free_cost, .cpu_only = true, .in_host_memory = true});
}

void define_queue(OpRegistry& ops) {
  with_sharding(ops, add_queue_ops, {}, "once: the elements of a queue are in one place");
}

// --- builders --------------------------------------------------------------------------------------------------------

namespace {

Value make_queue(Graph& graph, const char* op, const QueueSpec& spec, AttrMap attrs, std::string_view name) {
  for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
    if (spec.shapes[i].has_rank()) continue;
    graph.fail(
        invalid_argument(op, ": nothing is known of the shape of component ", i)
            .with_hint("PartialShape{} means unknown, a scalar is PartialShape::scalar(); leave `shapes` empty to "
                       "take any shape"));
    return {};
  }
  attrs.set("component_types", spec.dtypes);
  attrs.set("shapes", spec.shapes);
  attrs.set("capacity", spec.capacity);
  attrs.set("shared_name", spec.shared_name);
  return graph.add(op, {}, attrs, name);
}

std::vector<Value> with_queue(Value queue, const std::vector<Value>& values) {
  std::vector<Value> inputs = {queue};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return inputs;
}

std::vector<Value> components_of(Value first, std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < count && first.valid(); ++i) values.push_back(first.output(static_cast<int>(i)));
  return values;
}

}  // namespace

Value fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name) {
  return make_queue(graph, "FIFOQueueV2", spec, {}, name);
}
Value random_shuffle_queue(Graph& graph, const QueueSpec& spec, std::int64_t min_after_dequeue, std::int64_t seed,
                           std::int64_t seed2, std::string_view name) {
  return make_queue(graph, "RandomShuffleQueueV2", spec,
                    {{"min_after_dequeue", min_after_dequeue}, {"seed", seed}, {"seed2", seed2}}, name);
}
Value padding_fifo_queue(Graph& graph, const QueueSpec& spec, std::string_view name) {
  return make_queue(graph, "PaddingFIFOQueueV2", spec, {}, name);
}
Value priority_queue(Graph& graph, const QueueSpec& spec, std::string_view name) {
  return make_queue(graph, "PriorityQueueV2", spec, {}, name);
}

Value enqueue(Value queue, const std::vector<Value>& components) {
  return queue.valid() ? queue.graph().add("QueueEnqueueV2", with_queue(queue, components)).control() : Value();
}
Value enqueue_many(Value queue, const std::vector<Value>& rows) {
  return queue.valid() ? queue.graph().add("QueueEnqueueManyV2", with_queue(queue, rows)).control() : Value();
}
std::vector<Value> dequeue(Value queue, const std::vector<DType>& dtypes) {
  if (!queue.valid()) return {};
  return components_of(queue.graph().add("QueueDequeueV2", {queue}, {{"component_types", dtypes}}), dtypes.size());
}
std::vector<Value> dequeue_many(Value queue, Value n, const std::vector<DType>& dtypes) {
  if (!queue.valid()) return {};
  return components_of(queue.graph().add("QueueDequeueManyV2", {queue, n}, {{"component_types", dtypes}}),
                       dtypes.size());
}
std::vector<Value> dequeue_up_to(Value queue, Value n, const std::vector<DType>& dtypes) {
  if (!queue.valid()) return {};
  return components_of(queue.graph().add("QueueDequeueUpToV2", {queue, n}, {{"component_types", dtypes}}),
                       dtypes.size());
}
Value close_queue(Value queue, bool cancel_pending_enqueues) {
  if (!queue.valid()) return {};
  return queue.graph().add("QueueCloseV2", {queue}, {{"cancel_pending_enqueues", cancel_pending_enqueues}}).control();
}
Value queue_size(Value queue) { return queue.valid() ? queue.graph().add("QueueSizeV2", {queue}) : Value(); }
Value queue_is_closed(Value queue) { return queue.valid() ? queue.graph().add("QueueIsClosedV2", {queue}) : Value(); }

}  // namespace argosy
