// MemoryCache: the elements of a cached dataset, once it has been read to its end. Internal to the families dataset and
// iterator.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// Each shard, and each pass without shuffles, has elements of its own: AutoShardDataset shares the datasets below it
// with other pipelines, where TensorFlow makes new ones. Thread-safe.
class MemoryCache final : public Resource {
 public:
  using Elements = std::shared_ptr<const std::vector<Element>>;
  std::string describe() const override { return "memory cache of a dataset"; }
  // The elements of this kind of pass; null until one such pass is complete.
  Elements get(const IteratorContext& context) const {
    MutexLock lock(mutex_);
    const auto found = elements_.find(kind(context));
    return found == elements_.end() ? nullptr : found->second;
  }
  void set(const IteratorContext& context, Elements elements) {
    MutexLock lock(mutex_);
    std::erase_if(elements_, [](const auto& e) { return e.first.sharded && e.first.shard.expired(); });
    elements_.try_emplace(kind(context), std::move(elements));
  }

 private:
  struct Kind {
    bool sharded, without_shuffles;
    std::weak_ptr<const AutoShard> shard;  // expired: its elements are dropped by the next set()
    bool operator<(const Kind& other) const {
      const std::pair flags(sharded, without_shuffles), others(other.sharded, other.without_shuffles);
      return flags != others ? flags < others : shard.owner_before(other.shard);
    }
  };
  static Kind kind(const IteratorContext& context) {
    return {context.shard != nullptr, context.without_shuffles, context.shard};
  }

  mutable Mutex mutex_;
  std::map<Kind, Elements> elements_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::datasets
