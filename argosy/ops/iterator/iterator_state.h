// What an iterator handle refers to. Internal to the family.
//
// The pipeline runs on a thread of its own, or, where an element lies ready, on the thread that asks for it. A step
// that gives up waiting takes nothing along: the element it would have got goes to whoever asks next.
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

// How far a pass has come: what takes another pass over the same dataset there.
struct IteratorPosition {
  std::int64_t given = 0;       // elements, errors and ends that somebody got
  std::vector<SeedDraw> draws;  // of its shuffles
};

// Who asked a pipeline for an element, and has not got one.
struct ElementWaiter {
  void answer(Result<Element> result);  // by the one who set `answered`

  std::function<void(Result<Element>)> got;
  Cancellation* cancellation = nullptr;
  Cancellation::Token token = 0;
  std::atomic<bool> answered{false};
};

// One pass over a dataset, from initialization to the end or the next initialization. Thread-safe.
class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  using Got = std::function<void(Result<Element>)>;

  // The pass starts at `from`: what lies before it is computed again, and dropped, when the first element is asked for.
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
  // Calls `got` once, on this or another thread: with an element; OUT_OF_RANGE "End of sequence"; CANCELLED when
  // `cancellation` (may be null) is pulled meanwhile; or the pipeline's own error.
  void next(Cancellation* cancellation, Got got);
  Result<IteratorPosition> position();
  bool busy();  // somebody waits for an element, or computes one
  // Whoever waits is told CANCELLED; ends all threads, except that of its own it is called from, which ends by itself.
  void close();

 private:
  Result<Element> produce();  // by the one who set working_; what is thrown below is its error
  Result<Element> produce_unguarded();
  void serve();
  Status wake_server() ARGOSY_REQUIRES(mutex_);
  std::shared_ptr<ElementWaiter> take_waiter() ARGOSY_REQUIRES(mutex_);

  BlockingPool threads_;
  Cancellation cancellation_;
  SeedLog seeds_;
  FunctionInstances functions_;
  const IteratorContext context_;
  DatasetPtr dataset_;  // of the one who set working_, as is:
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

  // Every call below answers NOT_FOUND once it has let go: it was deleted.
  Status exists() const;
  // From the beginning of this dataset, whose elements must be what the iterator was declared to give.
  Status initialize(DatasetPtr dataset);
  // The same with the dataset that `make` gives, unless it was initialized before. An error of the first time stays, but
  // not that of a step that ended early (memory, time, cancellation).
  Status initialize_once(const std::function<Result<DatasetPtr>()>& make);
  // Where it is and of what; and to there, in a pass of its own over its dataset. FAILED_PRECONDITION before
  // initialization. The state of another dataset is INVALID_ARGUMENT.
  Result<std::string> save();
  Status restore(std::string_view saved);
  // FAILED_PRECONDITION before initialization; else as Pipeline::next.
  void next(Cancellation* cancellation, Pipeline::Got got);
  // Its pass ends, and none begins any more: datasets capture handles.
  void let_go() override;
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

// NOT_FOUND: what a deleted iterator answers.
Status iterator_is_gone();

// INVALID_ARGUMENT, in TensorFlow's words, unless elements of the one kind may be given out as the other.
Status check_elements(const std::vector<DType>& expected, const std::vector<PartialShape>& expected_shapes,
                      const std::vector<DType>& types, const std::vector<PartialShape>& shapes);

}  // namespace argosy::datasets
