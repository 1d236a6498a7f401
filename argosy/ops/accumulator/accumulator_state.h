// The resource that an accumulator's handle refers to. Thread-safe. Internal to the accumulator family.
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

// Holds the step, the count of gradients and the pending takes. A subclass holds the sums.
class Accumulator : public Resource, public Restorable, public std::enable_shared_from_this<Accumulator> {
 public:
  Accumulator(std::string name, AccumulatorOptions options) : name_(std::move(name)), options_(std::move(options)) {}
  const AccumulatorOptions& options() const { return options_; }
  // OK if `asked` fits an accumulator of the same name; else INVALID_ARGUMENT with the attribute that differs.
  Status check_same(const AccumulatorOptions& asked) const;

  // Calls `done` once `required` gradients have arrived; no thread waits. `done` gets the mean or sum of all that have
  // arrived, in host-readable tensors of its own. The accumulator is then clear, and its step is one higher.
  void take(std::int64_t required, Cancellation* cancellation, std::function<void(Status, std::vector<Tensor>)> done);
  std::int64_t count();
  void set_step(std::int64_t step);

  Result<std::function<Status()>> snapshot() const override;
  Result<std::vector<Tensor>> contents() const override;

 protected:
  // Runs `add` under the lock, unless the gradient is stale: then drops it and returns OK. `count`: the gradients
  // before it. An error of `add` leaves the count as it was.
  Status apply(std::int64_t local_step, const std::function<Status(std::int64_t count)>& add);
  // Returns the mean or sum of all gradients added, and clears it. Called with the lock held.
  virtual Result<std::vector<Tensor>> result(std::int64_t count) = 0;
  // sums() returns copies of the sums; take_sums() replaces the sums by copies of `sums`. Called with the lock held.
  virtual std::vector<Tensor> sums() const = 0;
  virtual void take_sums(const std::vector<Tensor>& sums) = 0;

 private:
  // FAILED_PRECONDITION while a step waits for gradients.
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

// Sums of rows, by index. A gradient's indices should be ascending and distinct. As in TensorFlow, this is not checked:
// the merge of two sorted lists takes them in the order in which they come.
class SparseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  std::string describe() const override;
  // `shape`: the shape of the dense tensor that the rows belong to; null if unknown.
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
