// Variable: the state behind both reference variables (VariableV2) and resource variables (VarHandleOp). Thread-safe.
//
// Readers get the tensor itself, sharing its memory; an update writes in place when nobody else holds that memory, else
// into a fresh copy (a reader's tensor never changes under it).
#pragma once

#include <array>
#include <memory>
#include <span>

#include "argosy/base/mutex.h"
#include "argosy/op/state/holder.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class Variable final : public Resource, public Holder {
 public:
  // `shape`: what the first value must be compatible with (unknown: anything). The allocator outlives the variable.
  Variable(DType dtype, PartialShape shape, Allocator& allocator)
      : dtype_(dtype), shape_(std::move(shape)), allocator_(allocator) {}

  DType dtype() const { return dtype_; }                // of every value
  const PartialShape& shape() const { return shape_; }  // of every value
  std::string describe() const override;

  bool initialized() const;  // has a value
  // Number of updates, assignments and take() calls begun so far.
  std::int64_t writes() const;
  // The current value; FAILED_PRECONDITION naming the variable when there is none.
  Result<Tensor> read(std::string_view name) const;
  // As read(), in the host's memory and nobody else's.
  Result<Tensor> read_to_host(std::string_view name) const;
  // Copies `value`, which is in the same memory space, into the variable. Reuses the variable's buffer if it fits and
  // is unshared. On a GPU the copy is only enqueued: outside of a step, wait for the device before other devices read
  // the variable. With `validate_shape`, `value` must have the shape of the current value; the first value's shape must
  // be compatible with shape().
  Status assign(const Tensor& value, bool validate_shape);
  // Moves the value out of the variable, which is then uninitialised. Not valid() if there was none.
  Tensor take();
  void release_contents() override {
    if (may_be_handle(dtype_)) (void)take();
  }

  // Runs update(Tensor&) -> Status on the value, under the lock. If other tensors share the value's memory, it is
  // copied first. FAILED_PRECONDITION: there is no value.
  template <typename Update>
  Status update(std::string_view name, Update&& update) {
    MutexLock lock(mutex_);
    ARGOSY_RETURN_IF_ERROR(make_unique(name));
    return update(value_);
  }

  // The most variables of one update_all().
  static constexpr std::size_t kMaxTogether = 8;
  // update() of several variables at once (an optimizer's variable and slots): update(span<Tensor* const>) -> Status.
  // Locks are taken in address order, each once, so a variable may be given twice. REQUIRES: at most kMaxTogether.
  template <typename Update>
  static Status update_all(std::span<Variable* const> variables, std::span<const std::string_view> names,
                           Update&& update) {
    const Together together(variables, names);
    ARGOSY_RETURN_IF_ERROR(together.status());
    return update(together.values());
  }

 private:
  // Holds the locks of its variables. (An address-ordered set of locks is beyond the static analysis.)
  class Together {
   public:
    Together(std::span<Variable* const> variables, std::span<const std::string_view> names)
        ARGOSY_THREAD_ATTRIBUTE(no_thread_safety_analysis);
    ~Together() ARGOSY_THREAD_ATTRIBUTE(no_thread_safety_analysis);
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
    const Status& status() const { return status_; }
    std::span<Tensor* const> values() const { return {values_.data(), count_}; }

   private:
    std::array<Variable*, kMaxTogether> ordered_;
    std::array<Tensor*, kMaxTogether> values_;
    std::size_t locked_ = 0;
    std::size_t count_ = 0;
    Status status_;
  };

  Status copy(const Tensor& to, const Tensor& from) const;
  Status make_unique(std::string_view name) ARGOSY_REQUIRES(mutex_);

  const DType dtype_;
  const PartialShape shape_;
  Allocator& allocator_;
  mutable Mutex mutex_;
  Tensor value_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t writes_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy
