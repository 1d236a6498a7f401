// Loader: batches of a dataset, in a shuffled order that depends on seed and epoch alone, made ahead of time on its own
// threads. Every example comes exactly once an epoch. Where it stands is a Cursor, exact to the example: a run that
// resumes from it sees what it would have seen.
//
//   ARGOSY_ASSIGN_OR_RETURN(auto loader, Loader::open(*dataset, {.batch = 128, .epochs = 3}));
//   for (;;) {
//     Result<Batch> batch = loader->next();
//     if (batch.status().code() == Code::kOutOfRange) break;
//     …
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "argosy/data/dataset.h"

namespace argosy::data {

// The next example to come: `position` examples of the epoch have been handed out.
struct Cursor {
  std::int64_t epoch = 0;     // rounds over the dataset that are over
  std::int64_t position = 0;  // examples given out in this one
  bool operator==(const Cursor&) const = default;
};

// Batches and their order.
struct LoaderOptions {
  std::int64_t batch = 32;   // examples; fewer at the end of an epoch
  bool shuffle = true;       // else in the dataset's order
  std::uint64_t seed = 0;    // of the order
  bool drop_last = false;    // leave out a last batch that is smaller
  std::int64_t epochs = -1;  // ends after these; -1: never
  Cursor start = {};         // of the first batch
  int threads = 1;           // that read examples
  int prefetch = 3;          // batches made or being made before they are asked for, at least 1
  // Of a batch of so many examples the rows [begin, end) that are read; what the others hold nobody may look at. Batches,
  // their order and cursors are those of all examples. Empty: all rows.
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t examples)> rows = {};
};

// What a step is fed with.
struct Batch {
  std::vector<Tensor> tensors;  // one per component, first axis = examples
  std::int64_t examples = 0;    // fewer than LoaderOptions::batch at the end of an epoch
  Cursor begin;                 // of its first example
  Cursor end;                   // behind its last example; begin of the next batch
};

class Loader {
 public:
  // The dataset must outlive the loader. INVALID_ARGUMENT: an empty dataset, options out of range, or a batch that
  // drop_last would never fill. RESOURCE_EXHAUSTED: the system has no thread left.
  static Result<std::unique_ptr<Loader>> open(const Dataset& dataset, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch; waits until it is there. OUT_OF_RANGE after the last epoch. The first error stays for all later
  // calls: the dataset's, or RESOURCE_EXHAUSTED where memory ran out. One thread at a time. The memory is recycled when
  // the caller releases the tensors.
  Result<Batch> next();

  // After the batches that next() has given out. Same thread as next().
  Cursor cursor() const;
  const LoaderOptions& options() const;    // as they were given
  std::int64_t batches_per_epoch() const;  // the last one may be short
  // Seconds that next() has waited: how far the input holds up the training.
  double waited_seconds() const;

  // What a checkpoint keeps: int64[4], epoch, position, seed, examples in the dataset.
  Tensor state() const;

 private:
  class Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The order in which one epoch goes through the dataset, as the loader sees it.
std::vector<std::int64_t> epoch_order(const Dataset& dataset, const LoaderOptions& options, std::int64_t epoch);

// The cursor of a state() tensor, for LoaderOptions::start. FAILED_PRECONDITION when seed or dataset size differ, since
// examples would be lost or come twice.
Result<Cursor> cursor_from_state(const Tensor& state, const Dataset& dataset, const LoaderOptions& options);

}  // namespace argosy::data
