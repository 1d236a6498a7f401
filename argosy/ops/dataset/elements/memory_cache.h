// What a cached dataset holds once it has been read to its end. Internal to the families dataset and iterator.
#pragma once

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// Thread-safe.
class MemoryCache final : public Resource {
 public:
  using Elements = std::shared_ptr<const std::vector<Element>>;
  std::string describe() const override { return "memory cache of a dataset"; }
  // Null until it is complete.
  Elements get() const {
    MutexLock lock(mutex_);
    return elements_;
  }
  void set(Elements elements) {
    MutexLock lock(mutex_);
    if (elements_ == nullptr) elements_ = std::move(elements);
  }

 private:
  mutable Mutex mutex_;
  Elements elements_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::datasets
