// Saver: checkpoints of a run, one after another, in one folder: written durably, read back and verified, the oldest
// removed, TensorFlow's `checkpoint` file kept up to date. A save that fails leaves what was there.
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
  int max_to_keep = 3;              // 0: all. The last verified one always stays
  bool verify = true;               // read every save back and compare its checksums before trusting it
  bool durable = true;              // see WriteOptions
  int shards = 1;
  int threads = 1;                   // for the background save; the training needs the cores
  bool keep_snapshot_memory = true;  // between asynchronous saves: faster, but held
  IoHook io_hook = {};
};

struct SaveStatus {
  bool saving = false;     // an asynchronous save is on its way
  std::int64_t saves = 0;  // finished well
  std::int64_t failures = 0;
  std::int64_t last_step = -1;  // of the last that finished well
  std::string last_prefix;
  std::int64_t last_bytes = 0;
  double last_seconds = 0;           // to durable and verified
  double last_snapshot_seconds = 0;  // what save_async cost its caller
  Status last_error;
};

class Saver {
 public:
  // Takes the folder for this process: ABORTED while another saver has it. Removes what a crash left behind.
  static Result<std::unique_ptr<Saver>> open(SaverOptions options);
  // Waits for a running save.
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Returns when the checkpoint is durable and verified. Waits for a running asynchronous save first.
  Status save(std::int64_t step, std::span<const NamedTensor> tensors);

  // Copies the tensors, then returns; the saver's thread does the rest. At most one save runs at a time: a second call
  // waits for the first. wait() and status() return a failure, and the log shows it.
  // RESOURCE_EXHAUSTED: no thread or memory is left for it.
  Status save_async(std::int64_t step, std::span<const NamedTensor> tensors);
  // The same without the copy: the tensors must not be written to any more.
  Status save_async_owned(std::int64_t step, std::vector<NamedTensor> tensors);

  // Waits until no save is running. Returns the error of the last asynchronous save, once.
  Status wait();
  SaveStatus status() const;

  // Prefixes of what is kept, oldest first.
  std::vector<std::string> kept() const;

 private:
  class Impl;
  explicit Saver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
