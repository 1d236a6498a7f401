#include "argosy/ops/mutex/mutex.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

void define_mutex(OpRegistry& ops) {
  OpSpec made{.name = "MutexV2",
              .doc = "A mutex, by handle.",
              .inputs = {},
              .outputs = {"resource: resource"},
              .attrs = {"container: string = ''", "shared_name: string = ''"},
              .shape = scalar_output,
              .gradient = kNotDifferentiable,
              .cost = free_cost,
              .stateful = true,
              .cpu_only = true,
              .in_host_memory = true};
  ops.add(std::move(made));
  OpSpec lock{.name = "MutexLock",
              .doc = "Waits for the mutex; holds it as long as somebody has the value.",
              .inputs = {"mutex: resource"},
              .outputs = {"mutex_lock: variant"},
              .shape = scalar_output,
              .gradient = kNotDifferentiable,
              .cost = free_cost,
              .stateful = true,
              .cpu_only = true,
              .in_host_memory = true,
              .async = true};
  ops.add(std::move(lock));
  // It never waits. It lets others go on, though, which an order of the step must know: see runtime/compile/static_schedule.h.
  OpSpec consume{.name = "ConsumeMutexLock",
                 .doc = "Gives the mutex back.",
                 .inputs = {"mutex_lock: variant"},
                 .outputs = {},
                 .shape = no_output,
                 .gradient = kNotDifferentiable,
                 .cost = free_cost,
                 .stateful = true,
                 .cpu_only = true,
                 .in_host_memory = true,
                 .async = true};
  ops.add(std::move(consume));
}

Value mutex(Graph& graph, const std::string& shared_name) {
  return graph.add("MutexV2", {}, {{"shared_name", shared_name}});
}
Value mutex_lock(Value mutex) { return mutex.valid() ? mutex.graph().add("MutexLock", {mutex}) : mutex; }
Value consume_mutex_lock(Value lock) { return lock.valid() ? lock.graph().add("ConsumeMutexLock", {lock}) : lock; }

}  // namespace argosy
