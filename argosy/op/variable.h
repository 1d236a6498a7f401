// Variable: the state behind both reference variables (VariableV2) and resource variables (VarHandleOp). Thread-safe.
//
// Readers get the tensor itself, sharing its memory; an update writes in place when nobody else holds that memory, else
// into a fresh copy (a reader's tensor never changes under it).
#pragma once

#include <functional>
#include <memory>

#include "argosy/base/mutex.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class Variable final : public Resource {
 public:
  // `shape`: what assigned values must be compatible with (unknown: anything). The allocator outlives the variable.
  Variable(DType dtype, PartialShape shape, Allocator& allocator)
      : dtype_(dtype), shape_(std::move(shape)), allocator_(allocator) {}

  DType dtype() const { return dtype_; }
  const PartialShape& shape() const { return shape_; }
  std::string describe() const override;

  bool initialized() const;
  // The current value; FAILED_PRECONDITION naming the variable when there is none.
  Result<Tensor> read(std::string_view name) const;
  // Copies `value` in, into the memory already held when it fits and is unshared. With `validate_shape`, the value's
  // shape must be compatible with the variable's.
  Status assign(const Tensor& value, bool validate_shape);
  // Runs `update` on the value, unshared, under the lock. FAILED_PRECONDITION when there is none.
  Status update(std::string_view name, const std::function<Status(Tensor&)>& update);
  // The same over several variables at once (an optimizer's variable and slots); locks in address order, each once.
  // (An address-ordered set of locks is beyond the static analysis.)
  static Status update_all(std::span<Variable* const> variables, std::span<const std::string_view> names,
                           const std::function<Status(std::span<Tensor* const>)>& update)
      ARGOSY_THREAD_ATTRIBUTE(no_thread_safety_analysis);

 private:
  Status make_unique(std::string_view name) ARGOSY_REQUIRES(mutex_);

  const DType dtype_;
  const PartialShape shape_;
  Allocator& allocator_;
  mutable Mutex mutex_;
  Tensor value_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
