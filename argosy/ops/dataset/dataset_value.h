// What a dataset is while steps run: an immutable recipe, passed as a variant, and the iterators that follow it.
// Internal to the families dataset and iterator.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/threads/blocking_pool.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy::datasets {

// One tensor per component. Elements own their memory.
using Element = std::vector<Tensor>;

inline constexpr std::int64_t kInfinite = -1;
inline constexpr std::int64_t kUnknownCardinality = -2;

// Of a dataset of `n` elements, which comes `count` times. Too many for an integer: unknown.
inline std::int64_t repeated_cardinality(std::int64_t n, std::int64_t count) {
  if (n == 0 || count == 0) return 0;
  std::int64_t product = 0;
  if (n < 0) return n;
  return __builtin_mul_overflow(n, count, &product) ? kUnknownCardinality : product;
}

class SeedLog;
struct AutoShard;  // elements/auto_shard.h

// The functions of one pipeline: what their ops keep begins with it, so that each pass over a dataset draws the same
// random numbers, as in TensorFlow. Thread-safe.
class FunctionInstances {
 public:
  // That of this pipeline. Made when it is asked for.
  Result<std::shared_ptr<FunctionCall>> of(const std::shared_ptr<FunctionCall>& call);
  void clear();

 private:
  Mutex mutex_;
  std::map<std::shared_ptr<FunctionCall>, std::shared_ptr<FunctionCall>> made_ ARGOSY_GUARDED_BY(mutex_);
};

// What iterators run with. Borrowed by all iterators of one pipeline, which end before it.
struct IteratorContext {
  BlockingPool* threads;
  Cancellation* cancellation;  // pulled when the pipeline is to end: nobody waits any longer
  Allocator* memory;
  SeedLog* seeds = nullptr;                // notes what is drawn at random (seeds.h); may be null
  bool repeats_shuffles = false;           // shuffles are repeated as TensorFlow 1.15 does it (wrappers_cpu.cc)
  FunctionInstances* functions = nullptr;  // null: what functions keep is everybody's
  std::shared_ptr<const AutoShard> shard = nullptr;  // of which a pipeline gives one; null: all of it
  bool without_shuffles = false;                     // shuffles give their input as it comes
};

// An error once nobody waits for the pipeline any longer. What gives elements without an end, or very many, asks before
// each: loops that pass over elements (skip, filter) then end too.
inline Status not_ended(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->cancelled() ? cancellation->status() : ok_status();
}

// State of one pass over a dataset. One caller at a time, from any thread.
class DatasetIterator {
 public:
  DatasetIterator() = default;
  virtual ~DatasetIterator() = default;
  DatasetIterator(const DatasetIterator&) = delete;
  DatasetIterator& operator=(const DatasetIterator&) = delete;

  // The next element; false at the end, and from then on. After an error the next call goes on behind it.
  virtual Result<bool> next(Element& out) = 0;
  // next() would neither wait nor compute: worth calling on a thread that others wait for.
  virtual bool ready() { return false; }
};
using IteratorPtr = std::unique_ptr<DatasetIterator>;

class DatasetValue : public VariantValue, public std::enable_shared_from_this<DatasetValue> {
 public:
  DatasetValue(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes)
      : op_(std::move(op)), types_(std::move(types)), shapes_(std::move(shapes)) {}
  std::string describe() const override { return op_; }
  const std::string& op() const { return op_; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }

  virtual Result<IteratorPtr> iterate(const IteratorContext& context) const = 0;
  // INVALID_ARGUMENT where its elements would not have the types() that the op's attributes say: asked before it is
  // given out, so that whoever reads a dataset may rely on its types().
  virtual Status check_types() const { return ok_status(); }
  // How many elements an iterator gives, if that is known without iterating.
  virtual std::int64_t cardinality() const { return kUnknownCardinality; }
  // Of how many rows its elements are, the last one perhaps apart; -1 where TensorFlow does not see it either: it looks
  // for a batch before what leaves elements as they are.
  virtual std::int64_t batch_size() const { return -1; }
  // The datasets whose elements it takes, as far as it says so.
  virtual std::vector<std::shared_ptr<const DatasetValue>> inputs() const { return {}; }
  // Do its elements become datasets that read files?
  virtual bool opens_readers() const { return false; }

 protected:
  // What an iterator keeps of its dataset. REQUIRES: made by make_shared.
  template <typename T>
  std::shared_ptr<const T> self() const {
    return std::static_pointer_cast<const T>(shared_from_this());
  }

 private:
  const std::string op_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};
using DatasetPtr = std::shared_ptr<const DatasetValue>;

// INVALID_ARGUMENT, in TensorFlow's words, unless they are the same.
Status same_types(const std::vector<DType>& expected, const std::vector<DType>& types);
// The dataset in a variant scalar. INVALID_ARGUMENT when it holds something else.
Result<DatasetPtr> dataset_in(const Tensor& handle);
Tensor dataset_handle(DatasetPtr dataset);

// A function of the graph with the values it captured.
class Captured {
 public:
  Captured() = default;
  Captured(std::shared_ptr<FunctionCall> call, std::vector<Tensor> arguments)
      : call_(std::move(call)), arguments_(std::move(arguments)) {}
  // Its own errors name the node of the body.
  Result<Element> operator()(Element arguments, const IteratorContext& context) const;
  const std::vector<DType>& returns() const { return call_->returns(); }
  bool any_op(const std::function<bool(const OpDef&)>& fits) const { return call_->any_op(fits); }

 private:
  std::shared_ptr<FunctionCall> call_;
  std::vector<Tensor> arguments_;
};

// A function's returned values as one dataset, a predicate, a key. INVALID_ARGUMENT when they are something else.
Result<DatasetPtr> dataset_of(const Element& returned);
Result<bool> bool_of(const Element& returned);
Result<std::int64_t> int_of(const Element& returned, const char* what);

// An iterator whose threads run ahead of its caller. A derived class calls stop() in its destructor.
class ThreadedIterator : public DatasetIterator {
 protected:
  explicit ThreadedIterator(const IteratorContext& parent);
  ~ThreadedIterator() override;

  // What the iterators below run with: ends with this one, or with the pipeline.
  const IteratorContext& inner() const { return inner_; }
  // A thread of its own runs task(), which ends soon after stopping_ is set.
  Status start(std::function<void()> task) ARGOSY_REQUIRES(mutex_);
  // Returns when no thread of this iterator runs any more.
  void stop() ARGOSY_EXCLUDES(mutex_);
  // Why next() gives no more: something was thrown on a thread, or the pipeline ends.
  Status stopped() const ARGOSY_REQUIRES(mutex_) {
    return broken_.ok() ? parent_.cancellation->status() : Status(broken_);
  }
  // Something was thrown on a thread, stopping_ is set. Called there, without the lock.
  virtual void broke() {}

  Mutex mutex_;
  CondVar changed_;  // what the caller waits for, and threads
  CondVar room_;     // what threads alone wait for
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;

 private:
  void end() ARGOSY_EXCLUDES(mutex_);
  const IteratorContext parent_;
  Cancellation cancellation_;
  IteratorContext inner_;
  Cancellation::Token token_ = 0;
  bool linked_ = false;
  int running_ ARGOSY_GUARDED_BY(mutex_) = 0;
  Status broken_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::datasets
