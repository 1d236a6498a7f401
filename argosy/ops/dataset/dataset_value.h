// A dataset at run time: DatasetValue, an immutable description in a variant, and DatasetIterator, one pass over its
// elements. Internal to the families dataset and iterator.
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

// The cardinality of `count` passes over a dataset of `n` elements. kUnknownCardinality if it does not fit an integer.
// REQUIRES: count >= 0, or n is 0.
inline std::int64_t repeated_cardinality(std::int64_t n, std::int64_t count) {
  if (n == 0 || count == 0) return 0;
  std::int64_t product = 0;
  if (n < 0) return n;
  return __builtin_mul_overflow(n, count, &product) ? kUnknownCardinality : product;
}

class SeedLog;
struct AutoShard;  // elements/auto_shard.h

// The functions of one pipeline. It has instances of its own, so that state kept by ops of a function starts afresh.
// Each pass over a dataset then draws the same random numbers, as in TensorFlow. Thread-safe.
class FunctionInstances {
 public:
  // Returns this pipeline's instance of the function; makes it on first use.
  Result<std::shared_ptr<FunctionCall>> of(const std::shared_ptr<FunctionCall>& call);
  void clear();

 private:
  Mutex mutex_;
  std::map<std::shared_ptr<FunctionCall>, std::shared_ptr<FunctionCall>> made_ ARGOSY_GUARDED_BY(mutex_);
};

// The environment of iterators. Borrowed by all iterators of a pipeline, which must end before it.
struct IteratorContext {
  BlockingPool* threads;
  Cancellation* cancellation;  // cancelled to end the pipeline: all waits then return
  Allocator* memory;
  SeedLog* seeds = nullptr;                          // records the seeds that were drawn (seeds.h); may be null
  bool repeats_shuffles = false;                     // repeat shuffles as TensorFlow 1.15 does (wrappers_cpu.cc)
  FunctionInstances* functions = nullptr;            // null: functions share their state
  std::shared_ptr<const AutoShard> shard = nullptr;  // the worker's shard; null: all
  bool without_shuffles = false;                     // shuffles keep their input's order
};

// An error once the pipeline has been cancelled. An iterator that makes very many elements, or endlessly many, asks
// before each one. So loops over them (skip, filter) end, too.
inline Status not_ended(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->cancelled() ? cancellation->status() : ok_status();
}

// The state of one pass over a dataset. One caller at a time, from any thread.
class DatasetIterator {
 public:
  DatasetIterator() = default;
  virtual ~DatasetIterator() = default;
  DatasetIterator(const DatasetIterator&) = delete;
  DatasetIterator& operator=(const DatasetIterator&) = delete;

  // Gets the next element. Returns false at the end and ever after. After an error the next call continues behind the
  // failed element.
  virtual Result<bool> next(Element& out) = 0;
  // True if next() would neither block nor compute: a thread that others wait for may call it.
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
  // INVALID_ARGUMENT if elements would not have the dtypes of types(), which the op's attributes claim. It is called
  // before the dataset is an output, so readers of a dataset may rely on types().
  virtual Status check_types() const { return ok_status(); }
  // The number of elements; kInfinite or kUnknownCardinality. Does not iterate.
  virtual std::int64_t cardinality() const { return kUnknownCardinality; }
  // The number of rows of an element, except perhaps the last one; -1 if unknown. As TensorFlow does, it looks for a
  // batch op below ops that pass elements on unchanged.
  virtual std::int64_t batch_size() const { return -1; }
  // The input datasets, as far as the class reports them.
  virtual std::vector<std::shared_ptr<const DatasetValue>> inputs() const { return {}; }
  // True if its elements become datasets that read files.
  virtual bool opens_readers() const { return false; }

 protected:
  // A shared pointer to this dataset, for its iterators. REQUIRES: the dataset was made by make_shared.
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

// INVALID_ARGUMENT, in TensorFlow's words, unless both lists are the same.
Status same_types(const std::vector<DType>& expected, const std::vector<DType>& types);
// dataset_in(): the dataset in a variant scalar; INVALID_ARGUMENT if it holds something else. dataset_handle(): the
// reverse.
Result<DatasetPtr> dataset_in(const Tensor& handle);
Tensor dataset_handle(DatasetPtr dataset);

// A function of the graph, with the values of its captures.
class Captured {
 public:
  Captured() = default;
  Captured(std::shared_ptr<FunctionCall> call, std::vector<Tensor> arguments)
      : call_(std::move(call)), arguments_(std::move(arguments)) {}
  // Calls the function. An error of the body names the failing node.
  Result<Element> operator()(Element arguments, const IteratorContext& context) const;
  const std::vector<DType>& returns() const { return call_->returns(); }
  bool any_op(const std::function<bool(const OpDef&)>& fits) const { return call_->any_op(fits); }

 private:
  std::shared_ptr<FunctionCall> call_;
  std::vector<Tensor> arguments_;
};

// Converts a function's returned values to a dataset, a predicate, or an integer. INVALID_ARGUMENT if they are
// something else.
Result<DatasetPtr> dataset_of(const Element& returned);
Result<bool> bool_of(const Element& returned);
Result<std::int64_t> int_of(const Element& returned, const char* what);

// An iterator with threads that run ahead of its caller. A derived class must call stop() in its destructor.
class ThreadedIterator : public DatasetIterator {
 protected:
  explicit ThreadedIterator(const IteratorContext& parent);
  ~ThreadedIterator() override;

  // The environment of its input iterators. It is cancelled with this iterator, or with the pipeline.
  const IteratorContext& inner() const { return inner_; }
  // Runs task() on a thread of its own. task() must end soon after stopping_ is set.
  Status start(std::function<void()> task) ARGOSY_REQUIRES(mutex_);
  // Stops the threads, and returns when none runs any more.
  void stop() ARGOSY_EXCLUDES(mutex_);
  // The reason why next() has no more elements: an exception on a thread, or the end of the pipeline.
  Status stopped() const ARGOSY_REQUIRES(mutex_) {
    return broken_.ok() ? parent_.cancellation->status() : Status(broken_);
  }
  // Called on the thread on which an exception was thrown, after stopping_ is set, without the lock.
  virtual void broke() {}

  Mutex mutex_;
  CondVar changed_;  // the caller waits on it, and threads
  CondVar room_;     // only threads wait on it
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
