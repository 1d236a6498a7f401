// Mutexes between steps: tf.CriticalSection. A lock is held from MutexLock until ConsumeMutexLock releases it, the last
// reference to its value is gone, or the step ends.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Nodes of a device with the same shared name have the same mutex. Without a name each node has its own.
Value mutex(Graph& graph, const std::string& shared_name = "");
// Waits for the mutex. The returned value is the lock.
Value mutex_lock(Value mutex);
// Releases the lock. Run it after everything that the lock guards.
Value consume_mutex_lock(Value lock);

}  // namespace argosy
