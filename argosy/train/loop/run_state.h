// Saves and restores the state of a run in one checkpoint:
// - the variables, the global step among them;
// - the loader's position in the data;
// - the learning rate of the next step.
//
// The checkpoint is renamed into place once it is durable. So a crash leaves the old state or the new one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/data/loader.h"
#include "argosy/formats/checkpoint/saver.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// Names of the entries that are no variables. TensorFlow reads them as ordinary tensors.
inline constexpr const char* kLoaderStateName = "argosy/loader";
inline constexpr const char* kLearningRateName = "argosy/learning_rate";

inline constexpr const char* kCheckpointName = "model.ckpt";

struct Resumed {
  std::int64_t step = 0;
  data::Cursor cursor;
  std::string prefix;
  std::optional<double> learning_rate;  // of the next step, in the run that saved; not in TensorFlow's files
};

// Checks that a new run of this model may use the folder. Returns the prefix of the newest checkpoint there, which the
// run's checkpoints will replace; empty if there is none. FAILED_PRECONDITION (ARG-CKPT-011): it belongs to another
// model.
Result<std::string> check_folder(const BuiltModel& built, const std::string& directory);

// Restores the newest checkpoint whose checksums are correct. With several tasks each calls this; the first one reads,
// and sends the values to the others. nullopt: the folder has none. FAILED_PRECONDITION (ARG-CKPT-011) lists the
// variables that are missing or have another dtype or shape. After a checkpoint without a loader's state, such as
// TensorFlow's, the run starts at the beginning of the data.
Result<std::optional<Resumed>> resume(CompiledModel& program, const std::string& directory,
                                      const data::Dataset& dataset, const data::LoaderOptions& loader);

// Saves to a folder. Used by one thread.
class Checkpointer {
 public:
  static Result<std::unique_ptr<Checkpointer>> open(const std::string& directory, int keep);
  // Copies the values and returns; another thread writes them. `learning_rate`: of the next step.
  Status save(CompiledModel& program, std::int64_t step, double learning_rate, const data::Loader& loader);
  // Waits until the last save is durable and returns its prefix.
  Result<std::string> finish();

 private:
  explicit Checkpointer(std::unique_ptr<tf::Saver> saver) : saver_(std::move(saver)) {}
  std::unique_ptr<tf::Saver> saver_;
};

}  // namespace argosy
