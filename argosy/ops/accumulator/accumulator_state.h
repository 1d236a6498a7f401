// What stands behind an accumulator's handle. Thread-safe. Internal to the accumulator family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/op/kernel/blocked_ops.h"
#include "argosy/op/state/restorable.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct AccumulatorOptions {
  DType dtype = DType::kFloat32;
  PartialShape shape;
  bool sum = false;
};

// Step, count and those who wait; what is added up is the subclass's.
class Accumulator : public Resource, public Restorable, public std::enable_shared_from_this<Accumulator> {
 public:
  Accumulator(std::string name, AccumulatorOptions options) : name_(std::move(name)), options_(std::move(options)) {}
  const AccumulatorOptions& options() const { return options_; }
  // INVALID_ARGUMENT saying how an accumulator asked for by this one's name differs from it.
  Status check_same(const AccumulatorOptions& asked) const;

  // Waits for `required` gradients; gives what they come to, in host-readable tensors of their own.
  void take(std::int64_t required, Cancellation* cancellation, std::function<void(Status, std::vector<Tensor>)> done);
  std::int64_t count();
  void set_step(std::int64_t step);

  Result<std::function<Status()>> set_aside() const override;
  Result<std::vector<Tensor>> contents() const override;

 protected:
  // Runs `add` under the lock if the gradient is not stale; its error leaves the count as it was.
  Status apply(std::int64_t local_step, const std::function<Status(std::int64_t count)>& add);
  // The mean or sum of all that was added, which is then gone. With the lock held.
  virtual Result<std::vector<Tensor>> result(std::int64_t count) = 0;
  // Copies of what was added up, and what takes copies of it back. With the lock held.
  virtual std::vector<Tensor> sums() const = 0;
  virtual void take_sums(const std::vector<Tensor>& sums) = 0;

 private:
  // FAILED_PRECONDITION: a step waits for gradients.
  Status check_idle() const ARGOSY_REQUIRES(blocked_.mutex());

  const std::string name_;
  const AccumulatorOptions options_;
  mutable BlockedOps blocked_{BlockedOps::Order::kStrict};
  std::int64_t step_ = 0, count_ = 0;  // guarded by blocked_.mutex()
};

class DenseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  std::string describe() const override;
  Status add(std::int64_t local_step, const Tensor& gradient);

 private:
  Result<std::vector<Tensor>> result(std::int64_t count) override;
  std::vector<Tensor> sums() const override;
  void take_sums(const std::vector<Tensor>& sums) override;
  Tensor sum_;
};

// Rows by index. Indices are expected in ascending order, each once; as in TensorFlow, others are merged as they come.
class SparseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  std::string describe() const override;
  // `shape`: of what the rows belong to; null: not known.
  Status add(std::int64_t local_step, const Tensor& indices, const Tensor& values, const Tensor* shape);

 private:
  Status check(const Tensor& indices, const Tensor& values, const Tensor* shape) const;
  Status merge(const Tensor& indices, const Tensor& values);
  Result<std::vector<Tensor>> result(std::int64_t count) override;
  std::vector<Tensor> sums() const override;
  void take_sums(const std::vector<Tensor>& sums) override;
  std::vector<std::int64_t> indices_, counts_;
  Tensor rows_;
};

}  // namespace argosy
