// KeyValueStore: what the tasks of a job tell each other while they come together: addresses, ids of groups, hashes.
// The coordinator (argosy/cluster) keeps one for all tasks; InMemoryStore (in_memory_store.h) is one for the tasks of a
// process.
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
  // Waits until somebody put it. DEADLINE_EXCEEDED names the key. The cause of the job's end ends the wait.
  virtual Result<std::string> get(std::string_view key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace argosy
