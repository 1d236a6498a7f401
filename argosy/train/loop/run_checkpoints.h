// The checkpoints of one run: the state that it starts from, its saves, and the last one. Internal to loop/.
#pragma once

#include <memory>
#include <string>

#include "argosy/data/loader.h"
#include "argosy/train/loop/run_state.h"
#include "argosy/train/loop/trainer.h"

namespace argosy {

// Used by one thread.
class RunCheckpoints {
 public:
  // `program` and `options` outlive this object.
  RunCheckpoints(CompiledModel& program, const TrainerOptions& options) : program_(program), options_(options) {}

  // Gives the variables their values: those of the newest checkpoint, if options.resume and there is one, else initial
  // ones. Sets `loader.start`, and in the report first_step, checkpoint and replaces. Call it first.
  Status restore(const data::Dataset& train, data::LoaderOptions& loader, TrainReport& report);
  // Opens the folder for saves, on the first task alone. No effect without options.checkpoint_dir.
  Status open();

  // True if the run saves after this step.
  bool due(std::int64_t step) const;
  Status save(std::int64_t step, const data::Loader& loader);
  // Saves the last step, if that is not yet done, and waits until it is durable. Returns its prefix; "": no saves.
  Result<std::string> finish(std::int64_t step, const data::Loader& loader);

  // The last saved or restored step; -1: none.
  std::int64_t saved_step() const { return saved_step_; }

 private:
  bool writes() const;  // this task does
  void warn_of_another_rate(const Resumed& resumed) const;

  CompiledModel& program_;
  const TrainerOptions& options_;
  std::unique_ptr<Checkpointer> checkpointer_;  // null: the run does not save, or another task does
  std::int64_t saved_step_ = -1;
};

}  // namespace argosy
