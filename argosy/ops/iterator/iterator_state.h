// IteratorState: the resource that an iterator's handle refers to. Pipeline: one pass over its dataset. Internal to the
// family.
//
// A pipeline computes elements on a thread of its own. If an element is ready, the thread that asks for it takes it. A
// step that is cancelled while it waits consumes nothing: its element goes to the next request.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "argosy/op/state/holder.h"
#include "argosy/ops/dataset/seeds.h"

namespace argosy::datasets {

// The position of a pass, from which another pass over the same dataset can continue.
struct IteratorPosition {
  std::int64_t given = 0;       // elements, errors and ends that were delivered
  std::vector<SeedDraw> draws;  // seeds of its shuffles
};

// A pending request for an element.
struct ElementWaiter {
  void answer(Result<Element> result);  // called by the thread that set `answered`

  std::function<void(Result<Element>)> got;
  Cancellation* cancellation = nullptr;
  Cancellation::Token token = 0;
  std::atomic<bool> answered{false};
};

// One pass over a dataset, from initialization to its end or the next initialization. Thread-safe.
class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  using Got = std::function<void(Result<Element>)>;

  // The pass starts at `from`: the first request computes the elements before it again, and drops them.
  explicit Pipeline(Allocator& memory, IteratorPosition from = {})
      : seeds_(std::move(from.draws)),
        context_{.threads = &threads_,
                 .cancellation = &cancellation_,
                 .memory = &memory,
                 .seeds = &seeds_,
                 .functions = &functions_},
        to_drop_(from.given) {}
  ~Pipeline();
  Status open(DatasetPtr dataset);
  // Calls `got` once, on this or another thread, with one of: an element; OUT_OF_RANGE "End of sequence"; CANCELLED if
  // `cancellation` (may be null) is cancelled first; an error of the pipeline.
  void next(Cancellation* cancellation, Got got);
  Result<IteratorPosition> position();
  bool busy();  // an element is waited for, or computed
  // Ends pending requests with CANCELLED, and all threads. A thread of the pipeline that calls it ends by itself.
  void close();

 private:
  Result<Element> produce();  // called by the thread that set working_; turns exceptions into errors
  Result<Element> produce_unguarded();
  void serve();
  Status wake_server() ARGOSY_REQUIRES(mutex_);
  std::shared_ptr<ElementWaiter> take_waiter() ARGOSY_REQUIRES(mutex_);

  BlockingPool threads_;
  Cancellation cancellation_;
  SeedLog seeds_;
  FunctionInstances functions_;
  const IteratorContext context_;
  DatasetPtr dataset_;  // used by the thread that set working_; so are the next two
  IteratorPtr iterator_;
  std::int64_t to_drop_;

  Mutex mutex_;
  CondVar changed_;
  bool working_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::int64_t given_ ARGOSY_GUARDED_BY(mutex_) = to_drop_;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<ElementWaiter>> waiters_ ARGOSY_GUARDED_BY(mutex_);
  std::optional<Result<Element>> left_over_ ARGOSY_GUARDED_BY(mutex_);
  std::thread server_ ARGOSY_GUARDED_BY(mutex_);
};

class IteratorState final : public Resource, public Holder {
 public:
  IteratorState(std::vector<DType> types, std::vector<PartialShape> shapes, Allocator& memory)
      : types_(std::move(types)), shapes_(std::move(shapes)), memory_(memory) {}
  ~IteratorState() override;
  std::string describe() const override { return "iterator"; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }

  // NOT_FOUND after release_contents(), when the iterator has been deleted; so do all calls below.
  Status exists() const;
  // Starts a pass over this dataset. Its elements must fit those that the iterator was declared with.
  Status initialize(DatasetPtr dataset);
  // The same with the dataset that `make` returns, unless it was initialized before. An error of the first call is
  // kept, unless its step ended early (memory, time, cancellation).
  Status initialize_once(const std::function<Result<DatasetPtr>()>& make);
  // save(): the position, and the dataset's op and dtypes. restore(): starts a pass at a saved position. Both:
  // FAILED_PRECONDITION before initialization. restore(): INVALID_ARGUMENT for the state of a dataset of another op or
  // other dtypes.
  Result<std::string> save();
  Status restore(std::string_view saved);
  // As Pipeline::next(); FAILED_PRECONDITION before initialization.
  void next(Cancellation* cancellation, Pipeline::Got got);
  // Ends the pass, and allows no other: datasets may capture handles, this one too.
  void release_contents() override;
  bool in_use() const override;

 private:
  Status start(DatasetPtr dataset, IteratorPosition from);

  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  Allocator& memory_;
  Mutex once_mutex_;
  std::optional<Status> once_ ARGOSY_GUARDED_BY(once_mutex_);
  mutable Mutex mutex_;
  std::shared_ptr<Pipeline> pipeline_ ARGOSY_GUARDED_BY(mutex_);
  DatasetPtr dataset_ ARGOSY_GUARDED_BY(mutex_);
  bool gone_ ARGOSY_GUARDED_BY(mutex_) = false;
};

// The error of a deleted iterator: NOT_FOUND.
Status iterator_is_gone();

// INVALID_ARGUMENT, in TensorFlow's words, unless elements of `types` and `shapes` fit the expected ones.
Status check_elements(const std::vector<DType>& expected, const std::vector<PartialShape>& expected_shapes,
                      const std::vector<DType>& types, const std::vector<PartialShape>& shapes);

}  // namespace argosy::datasets
