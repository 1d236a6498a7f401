// What a run needs to go on where it stopped, in one checkpoint: the variables (the global step among them), where it
// stands in its data and the learning rate of its next step. One file, renamed into place when it is durable, so there
// is no moment between the two.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/data/loader.h"
#include "argosy/formats/checkpoint/saver.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

// Names of what is not a variable; TensorFlow reads them as ordinary tensors.
inline constexpr const char* kLoaderStateName = "argosy/loader";
inline constexpr const char* kLearningRateName = "argosy/learning_rate";

inline constexpr const char* kCheckpointName = "model.ckpt";

struct Resumed {
  std::int64_t step = 0;
  data::Cursor cursor;
  std::string prefix;
  std::optional<double> learning_rate;  // of the step to come, in the run that saved; TensorFlow's files have none
};

// May a run of this model begin anew in the folder? The prefix of the newest checkpoint there, which the run's own will
// replace in time; empty where there is none. FAILED_PRECONDITION (ARG-CKPT-011): it is another model's.
Result<std::string> check_folder(const BuiltModel& built, const std::string& directory);

// The newest checkpoint that verifies, into the program's variables. Empty when the folder has none.
// FAILED_PRECONDITION lists what the model has and the checkpoint lacks, or the reverse shape; a checkpoint without our
// loader's state (TensorFlow's) starts the data anew.
Result<std::optional<Resumed>> resume(CompiledModel& program, const std::string& directory,
                                      const data::Dataset& dataset, const data::LoaderOptions& loader);

// Saves to a folder. One thread.
class Checkpointer {
 public:
  static Result<std::unique_ptr<Checkpointer>> open(const std::string& directory, int keep);
  // Copies the values and returns; the writing goes on beside the training. `learning_rate`: of the step to come.
  Status save(CompiledModel& program, std::int64_t step, double learning_rate, const data::Loader& loader);
  // Until the last save is durable; its prefix.
  Result<std::string> finish();

 private:
  explicit Checkpointer(std::unique_ptr<tf::Saver> saver) : saver_(std::move(saver)) {}
  std::unique_ptr<tf::Saver> saver_;
};

}  // namespace argosy
