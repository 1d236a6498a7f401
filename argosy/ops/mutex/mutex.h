// Locks between steps: tf.CriticalSection. A lock is held from MutexLock until ConsumeMutexLock gives it back, or until
// nobody has its value any more, or until the step ends.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Under a shared name every node of a device finds the same mutex; without, it is the node's own.
Value mutex(Graph& graph, const std::string& shared_name = "");
// Waits; the value is the lock.
Value mutex_lock(Value mutex);
// To be run after all that the lock guards.
Value consume_mutex_lock(Value lock);

}  // namespace argosy
