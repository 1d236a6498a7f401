// InMemoryStore: the KeyValueStore of tasks that are threads of one process.
#pragma once

#include <map>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/cluster/key_value_store.h"

namespace argosy {

// Thread-safe.
class InMemoryStore final : public KeyValueStore {
 public:
  Status put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key, std::chrono::milliseconds timeout) override;
  void abort(Status cause);  // ends every get(), waiting or later, with the first cause

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string, std::less<>> values_ ARGOSY_GUARDED_BY(mutex_);
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
