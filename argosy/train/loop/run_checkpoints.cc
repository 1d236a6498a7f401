#include "argosy/train/loop/run_checkpoints.h"

#include <algorithm>
#include <cmath>

#include "argosy/base/log.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

bool RunCheckpoints::writes() const { return program_.tasks() == nullptr || program_.tasks()->is_first(); }

Status RunCheckpoints::restore(const data::Dataset& train, data::LoaderOptions& loader, TrainReport& report) {
  std::optional<Resumed> resumed;
  if (options_.resume) {
    ARGOSY_ASSIGN_OR_RETURN(resumed, resume(program_, options_.checkpoint_dir, train, loader));
  }
  if (resumed) {
    loader.start = resumed->cursor;
    report.checkpoint = resumed->prefix;
    report.first_step = saved_step_ = resumed->step;
    warn_of_another_rate(*resumed);
    return ok_status();
  }
  if (!options_.checkpoint_dir.empty() && writes()) {
    ARGOSY_ASSIGN_OR_RETURN(report.replaces, check_folder(program_.built(), options_.checkpoint_dir));
  }
  return program_.initialize();
}

// A schedule that ends at the last step gives other rates if the number of steps has changed. Some users mean that;
// most are surprised.
void RunCheckpoints::warn_of_another_rate(const Resumed& resumed) const {
  const double rate = options_.optimizer.learning_rate().at(resumed.step);
  const double saved = resumed.learning_rate.value_or(rate);
  if (std::abs(rate - saved) <= 1e-6 * std::max(std::abs(rate), std::abs(saved))) return;
  ARGOSY_LOG(kWarning, "the learning rate after step ", resumed.step, " is ", rate, ", and was ", saved,
             " in the run of ", resumed.prefix,
             ": to go on as that run would have, give the steps (epochs, batch), "
             "learning rate and schedule that it had");
}

Status RunCheckpoints::open() {
  if (options_.checkpoint_dir.empty() || !writes()) return ok_status();
  auto opened = Checkpointer::open(options_.checkpoint_dir, options_.checkpoints_to_keep);
  if (!opened.ok()) {
    return std::move(opened)
        .status()
        .with_where(options_.checkpoint_dir)
        .with_hint("--checkpoint-dir DIR: a folder that may be written");
  }
  checkpointer_ = *std::move(opened);
  return ok_status();
}

bool RunCheckpoints::due(std::int64_t step) const {
  return !options_.checkpoint_dir.empty() && options_.checkpoint_every > 0 && step % options_.checkpoint_every == 0;
}

Status RunCheckpoints::save(std::int64_t step, const data::Loader& loader) {
  saved_step_ = step;
  // Slots in shards come from every task.
  if (!writes()) return program_.variables().status();
  return checkpointer_->save(program_, step, options_.optimizer.learning_rate().at(step), loader);
}

Result<std::string> RunCheckpoints::finish(std::int64_t step, const data::Loader& loader) {
  if (options_.checkpoint_dir.empty()) return std::string();
  Status saved = saved_step_ != step ? save(step, loader) : ok_status();
  if (saved.ok() && !writes()) return std::string();
  Result<std::string> prefix = saved.ok() ? checkpointer_->finish() : Result<std::string>(std::move(saved));
  if (prefix.ok()) return prefix;
  return std::move(prefix)
      .status()
      .with_where(options_.checkpoint_dir)
      .with_hint(
          "--checkpoint-dir DIR: a folder on a disk with room; what was trained since the last checkpoint is lost");
}

}  // namespace argosy
