// What stands behind a barrier's handle. Thread-safe; nobody waits on a thread. Internal to the barrier family.
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
  // INVALID_ARGUMENT saying how a barrier asked for by this one's name differs from it.
  Status check_same(const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes) const;

  // One component of the elements of these keys, a row each; rows must keep their memory. INVALID_ARGUMENT where an
  // element has the component already, CANCELLED for a new key once the barrier is closed; keys before that one are in.
  Status insert(std::int64_t component, const std::vector<std::string>& keys, const Tensor& rows,
                const QueueState::Caller& caller);
  // `count` elements as rows (index, key, components). OUT_OF_RANGE when there will not be so many.
  void take(std::int64_t count, bool allow_small_batch, const QueueState::Caller& caller, Done done);
  // CANCELLED when it is closed, unless this cancels what is pending.
  Status close(bool cancel_pending, const QueueState::Caller& caller);

  void let_go() override;

  std::int64_t ready_size() const;
  std::int64_t incomplete_size() const;

 private:
  struct Element {
    std::int64_t index;  // that of the call its key first came with
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
  std::int64_t on_the_way_ ARGOSY_GUARDED_BY(mutex_) = 0;  // whole, and not in ready_ yet
  std::map<std::string, Element> incomplete_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
