#include "argosy/ops/mutex/mutex.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_mutex_ops(OpRegistry& ops) {
  add_rows(ops,
           {{"MutexV2",
             "A mutex, by handle.",
             {},
             {"resource: resource"},
             {"container: string = ''", "shared_name: string = ''"},
             scalar_output},
            {"MutexLock",
             "Waits for the mutex; holds it as long as somebody has the value.",
             {"mutex: resource"},
             {"mutex_lock: variant"},
             {},
             scalar_output,
             {.async = true}},
            // It never waits. It lets others go on, though, which an order of the step must know: see
            // runtime/compile/order/control_flow_schedule.h.
            {"ConsumeMutexLock", "Gives the mutex back.", {"mutex_lock: variant"}, {}, {}, no_output, {.async = true}}},
           {.cost = free_cost, .stateful = true, .cpu_only = true, .in_host_memory = true});
}

void define_mutex(OpRegistry& ops) { with_sharding(ops, add_mutex_ops, {}, "once: there is one lock"); }

Value mutex(Graph& graph, const std::string& shared_name) {
  return graph.add("MutexV2", {}, {{"shared_name", shared_name}});
}
Value mutex_lock(Value mutex) { return mutex.valid() ? mutex.graph().add("MutexLock", {mutex}) : mutex; }
Value consume_mutex_lock(Value lock) { return lock.valid() ? lock.graph().add("ConsumeMutexLock", {lock}) : lock; }

}  // namespace argosy
