// KeyValueStore: the store through which the tasks of a job exchange addresses, ids of groups and hashes. The
// coordinator keeps one for all tasks. InMemoryStore (in_memory_store.h) is one for tasks in one process.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "argosy/base/status.h"

namespace argosy {

// Thread-safe. Keys and values are bytes. A key is written once: a second put() of another value is ALREADY_EXISTS.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // Waits until the key exists. DEADLINE_EXCEEDED names the key. The job's first cause ends the wait, too.
  virtual Result<std::string> get(std::string_view key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace argosy
