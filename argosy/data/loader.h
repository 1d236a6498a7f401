// Loader: makes batches of a dataset ahead of time, on its own threads. The shuffled order depends on seed and epoch
// alone, and has every example once an epoch. Its position is a Cursor, exact to the example: a run that resumes from
// it gets the batches that it would have got.
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

// The position in the data: that of the next example.
struct Cursor {
  std::int64_t epoch = 0;     // complete passes over the dataset
  std::int64_t position = 0;  // examples returned in this epoch
  bool operator==(const Cursor&) const = default;
};

// Batches and their order.
struct LoaderOptions {
  std::int64_t batch = 32;   // examples; fewer at the end of an epoch
  bool shuffle = true;       // else in the dataset's order
  std::uint64_t seed = 0;    // of the order
  bool drop_last = false;    // leave out a last batch that is smaller
  std::int64_t epochs = -1;  // the data end after these; -1: never
  Cursor start = {};         // of the first batch
  int threads = 1;           // that read examples
  int prefetch = 3;          // batches made ahead, those in progress included; at least 1
  // Returns the rows [begin, end) to read of a batch of so many examples. Other rows are unspecified. Shapes of
  // batches, their order and cursors are those of all examples. Empty: all rows are read.
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t examples)> rows = {};
};

// The feeds of a step.
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

  // Returns the next batch, and waits until it is made. OUT_OF_RANGE after the last epoch. Later calls return the first
  // error again: the dataset's, or RESOURCE_EXHAUSTED if memory ran out. One thread at a time. The memory is recycled
  // when the caller releases the tensors.
  Result<Batch> next();

  // The position after the batches that next() has returned. Same thread as next().
  Cursor cursor() const;
  const LoaderOptions& options() const;    // as they were given
  std::int64_t batches_per_epoch() const;  // the last one may be short
  // The seconds that next() has waited, in all: the time that the input delays the training.
  double waited_seconds() const;

  // The state for a checkpoint, int64[4]: epoch, position, seed, and the number of examples in the dataset.
  Tensor state() const;

 private:
  class Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Returns the indices of all examples in the loader's order of one epoch.
std::vector<std::int64_t> epoch_order(const Dataset& dataset, const LoaderOptions& options, std::int64_t epoch);

// Returns the cursor of a state() tensor, for LoaderOptions::start. FAILED_PRECONDITION: the seed or the number of
// examples differs, so examples would be lost or repeated. INVALID_ARGUMENT or DATA_LOSS: the tensor is not a state().
Result<Cursor> cursor_from_state(const Tensor& state, const Dataset& dataset, const LoaderOptions& options);

}  // namespace argosy::data
