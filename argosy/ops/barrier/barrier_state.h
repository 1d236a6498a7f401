// The resource that a barrier's handle refers to. Thread-safe; a pending take holds no thread. Internal to the barrier
// family.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/ops/queue/queue_state.h"

namespace argosy {

class BarrierState final : public Resource, public Holder {
 public:
  using Done = QueueState::Done;
  // Components: dtypes, and shapes that are fully known.
  BarrierState(std::string name, std::vector<DType> dtypes, std::vector<PartialShape> shapes);
  std::string describe() const override { return str_cat("Barrier \"", name_, "\""); }
  const std::vector<DType>& dtypes() const { return dtypes_; }
  // OK if a barrier of the same name may have these components; else INVALID_ARGUMENT.
  Status check_same(const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes) const;

  // Inserts one component of the elements with these keys, one row per key. Keeps views of `rows`, which must own their
  // memory.
  // Errors: INVALID_ARGUMENT if an element has the component already; CANCELLED for a new key once the barrier is
  // closed. The keys before the failing one stay inserted.
  Status insert(std::int64_t component, const std::vector<std::string>& keys, const Tensor& rows,
                const QueueState::Caller& caller);
  // Takes `count` elements as rows (index, key, components). OUT_OF_RANGE: it is closed with fewer (small batch: none).
  void take(std::int64_t count, bool allow_small_batch, const QueueState::Caller& caller, Done done);
  // CANCELLED if the barrier is closed already and `cancel_pending` is not set.
  Status close(bool cancel_pending, const QueueState::Caller& caller);

  void release_contents() override;

  std::int64_t ready_size() const;
  std::int64_t incomplete_size() const;

 private:
  struct Element {
    std::int64_t index;  // number of the insert() that brought the key first
    std::vector<Tensor> components;
    std::size_t have = 0;
  };
  Status insert_one(std::int64_t component, const std::string& key, Tensor row, std::int64_t index,
                    std::vector<QueueState::Tuple>& whole) ARGOSY_REQUIRES(mutex_);
  Status close_ready(const QueueState::Caller& caller);

  const std::string name_;
  const std::vector<DType> dtypes_;
  const std::vector<PartialShape> shapes_;
  const std::shared_ptr<QueueState> ready_;  // of (index, key, components), the least index first

  mutable Mutex mutex_;
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false, cancelled_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::int64_t next_index_ ARGOSY_GUARDED_BY(mutex_) = std::numeric_limits<std::int64_t>::min();
  std::int64_t on_the_way_ ARGOSY_GUARDED_BY(mutex_) = 0;  // complete, and not in ready_ yet
  std::map<std::string, Element> incomplete_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
