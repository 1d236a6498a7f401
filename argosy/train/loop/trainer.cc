#include "argosy/train/loop/trainer.h"

#include <algorithm>
#include <cmath>

#include "argosy/base/clock.h"
#include "argosy/data/loader.h"
#include "argosy/train/loop/compiled_models.h"
#include "argosy/train/loop/run_checkpoints.h"
#include "argosy/train/loop/run_recorder.h"
#include "argosy/train/loop/step_checks.h"
#include "argosy/train/report/memory_check.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

// The training loop, made of CompiledModels, RunCheckpoints, StepChecks and RunRecorder.
class Trainer::Impl {
 public:
  Impl(ModelBuilder model, TrainerOptions options)
      : options_(complete(std::move(options))), models_(std::move(model), options_) {}

  Status open();
  Result<TrainReport> fit(const data::Dataset& train, const data::Dataset* test);
  CompiledModels& models() { return models_; }
  const TrainReport& report() const { return report_; }

 private:
  static TrainerOptions complete(TrainerOptions o) {
    o.devices.deterministic = o.devices.deterministic || o.reproducible;
    if (o.tasks == nullptr || o.tasks->size() == 1) {
      o.tasks = nullptr;
      return o;
    }
    // The tasks compare replicas at the same steps, whatever time that takes each of them.
    if (o.check_replicas_every < 0) o.check_replicas_every = 100;
    return o;
  }
  struct Run;  // of one fit()
  Status train_and_test(Run& run, const data::Dataset& train, const data::Dataset* test);
  Status start(Run& run, const data::Dataset& train);
  Status loop(Run& run, const data::Dataset* test);
  Status check_loss(const Run& run, double loss) const;
  Status after_step(Run& run, const data::Dataset* test, double loss, bool epoch_ended);
  Status finish(Run& run);
  // With several tasks: checks that they have the same data and options.
  Status agree_on_run(const data::Dataset& train, const data::Dataset* test) const;
  Status ended(Status status);

  const TrainerOptions options_;
  CompiledModels models_;
  TrainReport report_;  // of the last fit()
};

struct Trainer::Impl::Run {
  Run(CompiledModels& models, const TrainerOptions& options)
      : checkpoints(models.training(), options), checks(models, options, report), recorder(models, options, report) {}

  // Notes a value of the first metric: a new best one, or one more epoch without it.
  void note_metric(double value) {
    epochs_without_better = value > best ? 0 : epochs_without_better + 1;
    best = std::max(best, value);
  }

  TrainReport report;
  std::unique_ptr<data::Loader> loader;
  std::vector<std::size_t> components;  // of the dataset, by input
  RunCheckpoints checkpoints;
  StepChecks checks;
  RunRecorder recorder;
  std::int64_t step = 0, evaluated_step = -1;
  double best = 0;
  int epochs_without_better = 0;
  bool stop = false;
  bool asked_to_stop = false, voted_to_stop = false;  // this task wants to; some task did when the last step began
};

Status Trainer::Impl::open() {
  if (options_.batch < 1) return invalid_argument("the batch must be at least 1, not ", options_.batch);
  if (options_.steps < 0 || options_.epochs < 0) return invalid_argument("steps and epochs cannot be negative");
  if (options_.resume && options_.checkpoint_dir.empty()) {
    return invalid_argument("there is nothing to resume from").with_hint("--checkpoint-dir DIR");
  }
  return ended(models_.open());
}

// With several tasks: an error of one task ends all of them. Returns the job's first cause.
Status Trainer::Impl::ended(Status status) {
  if (status.ok() || options_.tasks == nullptr) return status;
  Status cause = models_.tasks() != nullptr ? models_.tasks()->fail(status) : options_.tasks->fail(status);
  if (cause.ok() || cause.message() == status.message()) return status;
  // Another task's: for this one a peer is lost, whatever that one's error was.
  return unavailable(cause.message())
      .with_id(std::string(cause.id()))
      .with_where(cause.where())
      .with_hint(cause.hint());
}

// Checks the facts that must be equal on every task and are not in the graph.
Status Trainer::Impl::agree_on_run(const data::Dataset& train, const data::Dataset* test) const {
  if (models_.tasks() == nullptr) return ok_status();
  const TrainerOptions& o = options_;
  return models_.tasks()->agree(
      "the run's options",
      str_cat("batch ", o.batch, "\nsteps ", o.steps, "\nepochs ", o.epochs, "\nseed ", o.seed, "\ncheckpoints ",
              o.checkpoint_dir.empty() ? 0 : 1, "\ncheckpoint-every ", o.checkpoint_every, "\nresume ", o.resume,
              "\ncheck-replicas ", o.check_replicas_every, "\ncheck ", o.check_steps, "\nreproducible ", o.reproducible,
              "\nshards ", o.shards, "\npatience ", o.patience, "\nlogs ", o.log_dir.empty() ? 0 : 1, "\ndata ",
              train.size(), " examples\ntest data ", test != nullptr ? test->size() : 0, " examples\n"));
}

Result<TrainReport> Trainer::Impl::fit(const data::Dataset& train, const data::Dataset* test) {
  Run run(models_, options_);
  const std::int64_t began = now_nanos();
  const Status status = train_and_test(run, train, test);
  run.report.seconds = seconds_since(began);
  // Measurements stay valid even if a later checkpoint or event file cannot be written.
  report_ = std::move(run.report);
  if (!status.ok()) return ended(status);
  return report_;
}

Status Trainer::Impl::train_and_test(Run& run, const data::Dataset& train, const data::Dataset* test) {
  ARGOSY_RETURN_IF_ERROR(agree_on_run(train, test));
  ARGOSY_RETURN_IF_ERROR(start(run, train));
  const Status trained = loop(run, test);
  run.recorder.stop(run.step);
  ARGOSY_RETURN_IF_ERROR(Status(trained));
  if (test != nullptr && run.evaluated_step != run.step) {
    ARGOSY_ASSIGN_OR_RETURN(run.report.evaluation, models_.evaluate(*test));
  }
  return finish(run);
}

Status Trainer::Impl::start(Run& run, const data::Dataset& train) {
  CompiledModel& program = models_.training();
  ARGOSY_ASSIGN_OR_RETURN(run.components, match_inputs(program.built().inputs, train));
  data::LoaderOptions loader{.batch = std::min(options_.batch, std::max<std::int64_t>(train.size(), 1)),
                             .seed = options_.seed,
                             .epochs = options_.steps > 0 ? -1 : options_.epochs,
                             .threads = options_.input_threads,
                             // The task that compares with one device needs all of them.
                             .rows = options_.check_steps > 0 ? nullptr : program.rows_to_read()};
  ARGOSY_RETURN_IF_ERROR(check_memory(program, loader.batch));
  ARGOSY_RETURN_IF_ERROR(run.checkpoints.restore(train, loader, run.report));
  run.step = run.report.first_step;
  ARGOSY_ASSIGN_OR_RETURN(run.loader, data::Loader::open(train, loader));
  run.report.total_steps = options_.steps > 0 ? options_.steps : options_.epochs * run.loader->batches_per_epoch();
  ARGOSY_RETURN_IF_ERROR(run.checkpoints.open());
  return run.recorder.start(loader.batch);
}

Status Trainer::Impl::loop(Run& run, const data::Dataset* test) {
  while (run.step < run.report.total_steps && !run.stop) {
    RunRecorder::Step step{.index = run.step - run.report.first_step, .asked = now_nanos()};
    if (models_.tasks() != nullptr) models_.tasks()->progress(run.step, "reading its rows");
    Result<data::Batch> batch = run.loader->next();
    if (!batch.ok() && batch.status().code() == Code::kOutOfRange) break;
    ARGOSY_RETURN_IF_ERROR(batch.status());
    step.waited = seconds_since(step.asked);
    step.examples = batch->examples;
    run.recorder.before_step(step);
    const std::vector<Tensor> feeds = feeds_of(*batch, run.components);
    ARGOSY_RETURN_IF_ERROR(run.checks.before_step(feeds, batch->examples));
    RunTasks* const tasks = models_.tasks().get();
    if (tasks != nullptr) {
      tasks->progress(run.step, "a training step");
      tasks->cast_vote(run.asked_to_stop);
    }
    ARGOSY_ASSIGN_OR_RETURN(const double loss, models_.training().step(feeds, step.sampled ? &step.stats : nullptr));
    if (tasks != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(run.voted_to_stop, tasks->collect_vote());
    }
    ++run.step;
    ARGOSY_RETURN_IF_ERROR(run.checks.after_step(run.step, feeds, loss));
    run.report.losses.push_back(loss);
    ARGOSY_RETURN_IF_ERROR(check_loss(run, loss));
    run.recorder.after_step(step, feeds);
    ARGOSY_RETURN_IF_ERROR(after_step(run, test, loss, batch->end.epoch != batch->begin.epoch));
  }
  return ok_status();
}

Status Trainer::Impl::check_loss(const Run& run, double loss) const {
  if (!options_.stop_on_nan || std::isfinite(loss)) return ok_status();
  const std::int64_t saved = run.checkpoints.saved_step();
  return aborted("the loss is ", loss, " after step ", run.step)
      .with_id("ARG-TRAIN-001")
      .with_where(str_cat("step ", run.step))
      .with_hint(str_cat("a smaller learning rate (--lr), or --clip-norm 1",
                         saved >= 0 ? str_cat("; the checkpoint of step ", saved, " is intact") : std::string()));
}

Status Trainer::Impl::after_step(Run& run, const data::Dataset* test, double loss, bool epoch_ended) {
  const data::Cursor cursor = run.loader->cursor();
  const auto per_epoch = static_cast<double>(run.loader->batches_per_epoch() * run.loader->options().batch);
  TrainProgress progress{.step = run.step,
                         .total_steps = run.report.total_steps,
                         .epoch = static_cast<double>(cursor.epoch) + static_cast<double>(cursor.position) / per_epoch,
                         .loss = loss,
                         .samples_per_second = run.recorder.recent_rate()};
  if (epoch_ended && test != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(progress.evaluation, models_.evaluate(*test));
    run.evaluated_step = run.step;
    ARGOSY_RETURN_IF_ERROR(run.recorder.evaluated(run.step, progress.evaluation));
    if (options_.patience > 0 && !progress.evaluation.empty()) {
      run.note_metric(progress.evaluation[0].second);
      run.stop = run.epochs_without_better >= options_.patience;
    }
  }
  ARGOSY_RETURN_IF_ERROR(run.recorder.log_step(run.step, loss));
  if (epoch_ended) ARGOSY_RETURN_IF_ERROR(run.recorder.log_weights(run.step));
  if (run.checks.replicas_due(run.step)) ARGOSY_RETURN_IF_ERROR(run.checks.check_replicas(run.step));
  if (run.checkpoints.due(run.step)) {
    ARGOSY_RETURN_IF_ERROR(run.checks.check_replicas(run.step));
    ARGOSY_RETURN_IF_ERROR(run.checkpoints.save(run.step, *run.loader));
  }
  const bool stop = options_.progress && !options_.progress(progress);
  // Several tasks stop after the same step: after the next one all know that one wants to.
  run.asked_to_stop = run.asked_to_stop || stop;
  if (models_.tasks() != nullptr ? run.voted_to_stop : stop) {
    run.report.interrupted = run.step < run.report.total_steps;
    run.stop = true;
  }
  return ok_status();
}

Status Trainer::Impl::finish(Run& run) {
  run.recorder.stop_cores();
  ARGOSY_RETURN_IF_ERROR(run.checks.check_replicas(run.step));
  ARGOSY_ASSIGN_OR_RETURN(const std::string prefix, run.checkpoints.finish(run.step, *run.loader));
  if (!prefix.empty()) run.report.checkpoint = prefix;
  return run.recorder.finish(run.step, run.loader->options().batch);
}

Result<std::unique_ptr<Trainer>> Trainer::make(ModelBuilder model, TrainerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(model), std::move(options));
  ARGOSY_RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;
Result<TrainReport> Trainer::fit(const data::Dataset& train, const data::Dataset* test) {
  return impl_->fit(train, test);
}
Result<Evaluation> Trainer::evaluate(const data::Dataset& test) { return impl_->models().evaluate(test); }
Result<std::vector<std::pair<std::string, Tensor>>> Trainer::sample_images(const data::Dataset& data, int examples) {
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const program, impl_->models().evaluator());
  return sample_images_of(*program, data, examples);
}
const std::vector<DeviceSpec>& Trainer::devices() const { return impl_->models().devices(); }
const TrainReport& Trainer::report() const { return impl_->report(); }

}  // namespace argosy
