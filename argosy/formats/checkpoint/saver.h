// Saver: writes the checkpoints of a training run into one folder. Each is written durably, read back and verified.
// Then the `checkpoint` file of TensorFlow is updated, and the oldest checkpoints are removed. A save that fails
// changes none of the earlier checkpoints.
//
//   ARGOSY_ASSIGN_OR_RETURN(auto saver, Saver::open({.directory = "runs/a"}));
//   ARGOSY_RETURN_IF_ERROR(saver->save_async(step, variables));   // returns after a copy in memory
//   …
//   ARGOSY_RETURN_IF_ERROR(saver->wait());
//
// Other state that a run needs to resume (step, cursor, random state) is saved as ordinary tensors.
// One thread calls save, save_async and wait; status() may be called from any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/formats/checkpoint/checkpoint.h"

namespace argosy::tf {

struct SaverOptions {
  std::string directory = {};       // made if it is not there
  std::string name = "model.ckpt";  // checkpoints are `<directory>/<name>-<step>`
  int max_to_keep = 3;              // the newest so many are kept; 0: all
  bool verify = true;               // read every save back and compare its checksums before trusting it
  bool durable = true;              // see WriteOptions
  int shards = 1;
  int threads = 1;                   // of a background save; few, because the training needs the cores
  bool keep_snapshot_memory = true;  // reuses the copies' memory for the next asynchronous save: faster, but held
  IoHook io_hook = {};
};

struct SaveStatus {
  bool saving = false;     // an asynchronous save is in progress
  std::int64_t saves = 0;  // that succeeded, synchronous and asynchronous
  std::int64_t failures = 0;
  std::int64_t last_step = -1;  // of the last save that succeeded
  std::string last_prefix;
  std::int64_t last_bytes = 0;
  double last_seconds = 0;           // until it was durable and verified
  double last_snapshot_seconds = 0;  // for which the last save_async() held its caller
  Status last_error;
};

class Saver {
 public:
  // Locks the folder (made if needed). ABORTED: another saver has it. Removes the temporary files and data files
  // without an index that a crash left behind.
  static Result<std::unique_ptr<Saver>> open(SaverOptions options);
  // Waits for a running save.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Returns when the checkpoint is durable and verified. Waits for a running asynchronous save first.
  Status save(std::int64_t step, std::span<const NamedTensor> tensors);

  // Copies the tensors and returns; the saver's thread writes them. At most one save runs at a time: a second call
  // waits for the first. A failure is logged, and returned by wait() and status(). RESOURCE_EXHAUSTED: no thread or
  // memory is left.
  Status save_async(std::int64_t step, std::span<const NamedTensor> tensors);
  // Like save_async(), without the copy: the caller must not write to the tensors any more.
  Status save_async_owned(std::int64_t step, std::vector<NamedTensor> tensors);

  // Waits until no save is running. Returns the error of the last asynchronous save, once.
  Status wait();
  SaveStatus status() const;

  // Returns the prefixes of the kept checkpoints, oldest first.
  std::vector<std::string> kept() const;

 private:
  class Impl;
  explicit Saver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
