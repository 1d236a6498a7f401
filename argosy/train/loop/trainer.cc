#include "argosy/train/loop/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "argosy/base/clock.h"
#include "argosy/base/log.h"
#include "argosy/base/threads/core_use.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/data/loader.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/evaluation.h"
#include "argosy/train/loop/one_device_check.h"
#include "argosy/train/loop/run_log.h"
#include "argosy/train/loop/run_state.h"
#include "argosy/train/loop/sdc_check.h"
#include "argosy/train/report/measure_interleaved.h"
#include "argosy/train/report/memory_check.h"

namespace argosy {

namespace {

constexpr int kLogicalShards = 8;         // of a reproducible run
constexpr std::int64_t kWarmUpSteps = 3;  // compile, first touch of memory: not part of the speed
constexpr std::int64_t kSampleStatsEvery = 4;
constexpr std::int64_t kCheckReplicasEvery = 100;
constexpr double kCheckReplicasShare = 0.01;  // of the time, at most

// Samples over seconds, of steps that count.
struct Speed {
  double samples = 0, seconds = 0;
  void add(double s, double t) { samples += s, seconds += t; }
  double rate() const { return seconds > 0 ? samples / seconds : 0; }
};

}  // namespace

class Trainer::Impl {
 public:
  Impl(ModelBuilder model, TrainerOptions options)
      : builder_(std::move(model)), options_(complete(std::move(options))) {}

  Status open() {
    if (options_.batch < 1) return invalid_argument("the batch must be at least 1, not ", options_.batch);
    if (options_.steps < 0 || options_.epochs < 0) return invalid_argument("steps and epochs cannot be negative");
    if (options_.resume && options_.checkpoint_dir.empty()) {
      return invalid_argument("there is nothing to resume from").with_hint("--checkpoint-dir DIR");
    }
    ARGOSY_ASSIGN_OR_RETURN(devices_, chosen_devices(options_.devices));
    ARGOSY_ASSIGN_OR_RETURN(device_set_, DeviceSet::make(options_.devices));
    ARGOSY_ASSIGN_OR_RETURN(program_, make_program(devices_, true, device_set_));
    return ok_status();
  }

  Result<std::unique_ptr<CompiledModel>> make_program(const std::vector<DeviceSpec>& devices, bool for_training,
                                                      std::shared_ptr<DeviceSet> device_set, bool traced = true) const {
    LayersOptions layers{.seed = options_.seed, .dtype = options_.dtype, .compute = options_.compute};
    ARGOSY_ASSIGN_OR_RETURN(
        BuiltModel built,
        build_model(builder_, layers, for_training ? &options_.optimizer : nullptr, options_.minimize));
    CompiledModelOptions program{
        .devices = devices, .loss_placement = options_.loss_placement, .sync_batch_norm = options_.sync_batch_norm};
    if (!for_training) program.loss_placement.reset();
    if (options_.reproducible) program.shards = std::max<int>(kLogicalShards, static_cast<int>(devices.size()));
    program.session.devices = options_.devices;
    // Traced are the steps of training, not those of evaluation or of the probe.
    if (!for_training || !traced) {
      program.session.trace_path = "";
    } else if (!options_.trace_path.empty()) {
      program.session.trace_path = options_.trace_path;
    }
    program.session.device_set = std::move(device_set);
    program.session.reproducible = options_.reproducible;
    return CompiledModel::make(std::move(built), program);
  }

  Result<TrainReport> fit(const data::Dataset& train, const data::Dataset* test);
  Result<Evaluation> evaluate(const data::Dataset& test);
  Result<std::vector<std::pair<std::string, Tensor>>> sample_images(const data::Dataset& data, int examples);

  const std::vector<DeviceSpec>& devices() const { return devices_; }
  const TrainReport& report() const { return report_; }

 private:
  static TrainerOptions complete(TrainerOptions o) {
    o.devices.deterministic = o.devices.deterministic || o.reproducible;
    return o;
  }
  struct Run;  // of one fit()
  Status train_and_test(Run& run, const data::Dataset& train, const data::Dataset* test);
  Status start(Run& run, const data::Dataset& train);
  Status loop(Run& run, const data::Dataset* test);
  Status after_step(Run& run, const data::Dataset* test, double loss, bool epoch_ended);
  Status finish(Run& run);
  Status save(Run& run);
  void warn_of_another_rate(const Resumed& resumed) const;
  Status end_check(Run& run, const std::vector<Tensor>& feeds, double loss);
  Status check_replicas(Run& run);
  bool replicas_due(const Run& run) const;
  Status log_sample_images(Run& run);
  Result<Comparison> measure(const std::vector<Tensor>& feeds, std::int64_t batch, double ideal);
  void note_memory(TrainReport& report) const;
  Result<CompiledModel*> evaluator();

  const ModelBuilder builder_;
  const TrainerOptions options_;
  std::vector<DeviceSpec> devices_;
  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<CompiledModel> program_;
  std::unique_ptr<CompiledModel> evaluator_;
  TrainReport report_;                 // of the last fit()
  std::int64_t evaluation_batch_ = 0;  // 0: not yet chosen
};

struct Trainer::Impl::Run {
  TrainReport report;
  std::unique_ptr<data::Loader> loader;
  std::vector<std::size_t> components;
  std::unique_ptr<Checkpointer> checkpointer;
  std::unique_ptr<RunLog> log;
  std::int64_t total_steps = 0, step = 0, saved_step = -1, evaluated_step = -1;
  Speed speed, recent;
  std::optional<TimeBreakdownMeter> breakdown;
  std::optional<CoreUseMeter> cores;                               // from the first step that counts
  std::int64_t counted_from = 0;                                   // when that was
  std::optional<OneDeviceCheck> check;                             // where asked for, until it is over
  std::optional<SdcCheck> replicas;                                // where asked for
  std::int64_t replicas_checked = 0;                               // the step
  std::int64_t replicas_checked_at = 0, replicas_check_nanos = 0;  // when, and how long it took
  std::vector<Tensor> last_feeds;
  std::int64_t last_examples = 0;
  double best = 0;
  int epochs_without_better = 0;
  bool stop = false;
};

// A rate that falls towards the last step falls otherwise when a run goes on with another number of steps: meant by
// some, a surprise to most.
void Trainer::Impl::warn_of_another_rate(const Resumed& resumed) const {
  const double rate = options_.optimizer.learning_rate().at(resumed.step);
  const double saved = resumed.learning_rate.value_or(rate);
  if (std::abs(rate - saved) <= 1e-6 * std::max(std::abs(rate), std::abs(saved))) return;
  ARGOSY_LOG(kWarning, "the learning rate after step ", resumed.step, " is ", rate, ", and was ", saved,
             " in the run of ", resumed.prefix,
             ": to go on as that run would have, give the steps (epochs, batch), "
             "learning rate and schedule that it had");
}

Status Trainer::Impl::save(Run& run) {
  run.saved_step = run.step;
  return run.checkpointer->save(*program_, run.step, options_.optimizer.learning_rate().at(run.step), *run.loader);
}

Status Trainer::Impl::start(Run& run, const data::Dataset& train) {
  ARGOSY_ASSIGN_OR_RETURN(run.components, match_inputs(program_->built().inputs, train));
  data::LoaderOptions loader{.batch = std::min(options_.batch, std::max<std::int64_t>(train.size(), 1)),
                             .seed = options_.seed,
                             .epochs = options_.steps > 0 ? -1 : options_.epochs,
                             .threads = options_.input_threads};
  ARGOSY_RETURN_IF_ERROR(check_memory(*program_, loader.batch));
  std::optional<Resumed> resumed;
  if (options_.resume) {
    ARGOSY_ASSIGN_OR_RETURN(resumed, resume(*program_, options_.checkpoint_dir, train, loader));
  }
  if (resumed) {
    loader.start = resumed->cursor;
    run.report.checkpoint = resumed->prefix;
    warn_of_another_rate(*resumed);
  } else {
    if (!options_.checkpoint_dir.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(run.report.replaces, check_folder(program_->built(), options_.checkpoint_dir));
    }
    ARGOSY_RETURN_IF_ERROR(program_->initialize());
  }
  run.step = run.report.first_step = resumed ? resumed->step : 0;
  ARGOSY_ASSIGN_OR_RETURN(run.loader, data::Loader::open(train, loader));
  run.total_steps = options_.steps > 0 ? options_.steps : options_.epochs * run.loader->batches_per_epoch();
  run.report.total_steps = run.total_steps;
  if (!options_.checkpoint_dir.empty()) {
    auto opened = Checkpointer::open(options_.checkpoint_dir, options_.checkpoints_to_keep);
    if (!opened.ok()) {
      return std::move(opened)
          .status()
          .with_where(options_.checkpoint_dir)
          .with_hint("--checkpoint-dir DIR: a folder that may be written");
    }
    run.checkpointer = *std::move(opened);
    run.saved_step = resumed ? resumed->step : -1;
  }
  if (!options_.log_dir.empty()) {
    auto opened = RunLog::open(options_.log_dir, program_->built());
    if (!opened.ok()) {
      return std::move(opened)
          .status()
          .with_where(options_.log_dir)
          .with_hint("--log-dir DIR: a folder that may be written");
    }
    run.log = *std::move(opened);
  }
  std::vector<DeviceName> names;
  for (const DeviceSpec& d : devices_) names.push_back(d.name);
  run.breakdown.emplace(names);
  if (options_.check_replicas_every != 0) run.replicas.emplace(*program_, devices_, options_.devices);
  if (options_.check_steps > 0 && devices_.size() < 2) {
    run.report.not_checked = "there is one device: nothing to compare with it";
  } else if (options_.check_steps > 0) {
    run.check.emplace(*program_, devices_.size(), options_.sync_batch_norm,
                      [this]() -> Result<std::unique_ptr<CompiledModel>> {
                        ARGOSY_ASSIGN_OR_RETURN(auto device_set, DeviceSet::make(options_.devices));
                        return make_program({devices_[0]}, true, std::move(device_set), false);
                      });
  }
  run.report.devices = devices_;
  run.report.strategy = program_->parallel().summary();
  if (options_.log_device_placement) {
    ARGOSY_ASSIGN_OR_RETURN(const PlacementReport placement, program_->placement(loader.batch));
    run.report.placement = placement.summary();
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto forecasts, program_->forecast(loader.batch));
  for (const MemoryForecast& f : forecasts) {
    run.report.planned_bytes.emplace_back(f.device.short_string(), f.total_bytes());
  }
  return ok_status();
}

Result<TrainReport> Trainer::Impl::fit(const data::Dataset& train, const data::Dataset* test) {
  Run run;
  const std::int64_t began = now_nanos();
  const Status status = train_and_test(run, train, test);
  run.report.seconds = seconds_since(began);
  // What was measured stays true when a checkpoint or an event file cannot be written after it.
  report_ = std::move(run.report);
  if (!status.ok()) return status;
  return report_;
}

Status Trainer::Impl::train_and_test(Run& run, const data::Dataset& train, const data::Dataset* test) {
  ARGOSY_RETURN_IF_ERROR(start(run, train));
  const Status trained = loop(run, test);
  run.report.steps = run.step;
  run.report.samples_per_second = run.speed.rate();
  note_memory(run.report);
  ARGOSY_RETURN_IF_ERROR(Status(trained));
  if (test != nullptr && run.evaluated_step != run.step) {
    ARGOSY_ASSIGN_OR_RETURN(run.report.evaluation, evaluate(*test));
  }
  return finish(run);
}

Status Trainer::Impl::loop(Run& run, const data::Dataset* test) {
  while (run.step < run.total_steps && !run.stop) {
    const std::int64_t asked = now_nanos();
    Result<data::Batch> batch = run.loader->next();
    if (!batch.ok() && batch.status().code() == Code::kOutOfRange) break;
    ARGOSY_RETURN_IF_ERROR(batch.status());
    const double waited = seconds_since(asked);
    const std::int64_t done = run.step - run.report.first_step;
    if (done == kWarmUpSteps) {
      run.cores.emplace();
      run.counted_from = now_nanos();
    }
    const std::vector<Tensor> feeds = feeds_of(*batch, run.components);
    StepStats stats;
    // Of a short run at least its last step is looked at, if that is not its first.
    const bool last = run.step + 1 == run.total_steps && done > 0 && run.breakdown->steps() == 0;
    const bool sampled = last || (done >= kWarmUpSteps && done % kSampleStatsEvery == 0);
    if (run.check) ARGOSY_RETURN_IF_ERROR(run.check->before_step(feeds, batch->examples));
    ARGOSY_ASSIGN_OR_RETURN(const double loss, program_->step(feeds, sampled ? &stats : nullptr));
    ++run.step;
    if (run.check) ARGOSY_RETURN_IF_ERROR(end_check(run, feeds, loss));
    run.report.losses.push_back(loss);
    if (options_.stop_on_nan && !std::isfinite(loss)) {
      return aborted("the loss is ", loss, " after step ", run.step)
          .with_id("ARG-TRAIN-001")
          .with_where(str_cat("step ", run.step))
          .with_hint(str_cat("a smaller learning rate (--lr), or --clip-norm 1",
                             run.saved_step >= 0 ? str_cat("; the checkpoint of step ", run.saved_step, " is intact")
                                                 : std::string()));
    }
    if (done >= kWarmUpSteps || done + 1 == run.total_steps) {
      const double seconds = seconds_since(asked);
      run.speed.add(static_cast<double>(batch->examples), seconds);
      run.recent.add(static_cast<double>(batch->examples), seconds);
    }
    if (sampled) run.breakdown->add(stats, waited);
    const bool epoch_ended = batch->end.epoch != batch->begin.epoch;
    // Kept for the probe; a last, smaller batch would not show the usual speed.
    if (batch->examples >= run.last_examples) {
      run.last_feeds = feeds;
      run.last_examples = batch->examples;
    }
    ARGOSY_RETURN_IF_ERROR(after_step(run, test, loss, epoch_ended));
  }
  return ok_status();
}

Status Trainer::Impl::after_step(Run& run, const data::Dataset* test, double loss, bool epoch_ended) {
  const data::Cursor cursor = run.loader->cursor();
  const auto per_epoch = static_cast<double>(run.loader->batches_per_epoch() * run.loader->options().batch);
  TrainProgress progress{.step = run.step,
                         .total_steps = run.total_steps,
                         .epoch = static_cast<double>(cursor.epoch) + static_cast<double>(cursor.position) / per_epoch,
                         .loss = loss,
                         .samples_per_second = run.recent.rate()};
  if (epoch_ended && test != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(progress.evaluation, evaluate(*test));
    run.report.evaluation = progress.evaluation;
    run.evaluated_step = run.step;
    if (run.log) ARGOSY_RETURN_IF_ERROR(run.log->evaluation(run.step, progress.evaluation));
    if (options_.patience > 0 && !progress.evaluation.empty()) {
      const double now = progress.evaluation[0].second;
      run.epochs_without_better = now > run.best ? 0 : run.epochs_without_better + 1;
      run.best = std::max(run.best, now);
      run.stop = run.epochs_without_better >= options_.patience;
    }
  }
  if (run.log && run.step % options_.log_every == 0) {
    ARGOSY_RETURN_IF_ERROR(
        run.log->step(run.step, loss, options_.optimizer.learning_rate().at(run.step - 1), run.recent.rate()));
    run.recent = {};
  }
  if (run.log && epoch_ended) ARGOSY_RETURN_IF_ERROR(run.log->weights(run.step, *program_));
  if (replicas_due(run)) ARGOSY_RETURN_IF_ERROR(check_replicas(run));
  if (run.checkpointer && options_.checkpoint_every > 0 && run.step % options_.checkpoint_every == 0) {
    ARGOSY_RETURN_IF_ERROR(check_replicas(run));
    ARGOSY_RETURN_IF_ERROR(save(run));
  }
  if (options_.progress && !options_.progress(progress)) {
    run.report.interrupted = run.step < run.total_steps;
    run.stop = true;
  }
  return ok_status();
}

Status Trainer::Impl::end_check(Run& run, const std::vector<Tensor>& feeds, double loss) {
  TrainReport& report = run.report;
  report.not_checked = run.check->not_checked();
  if (report.not_checked.empty()) {
    ARGOSY_RETURN_IF_ERROR(run.check->after_step(run.step, feeds, loss));
    ++report.checked_steps;
    if (report.checked_steps < options_.check_steps) return ok_status();
  }
  run.check.reset();
  return ok_status();
}

Status Trainer::Impl::check_replicas(Run& run) {
  if (!run.replicas || run.replicas_checked == run.step) return ok_status();
  run.replicas_checked = run.step;
  const std::int64_t start = now_nanos();
  Status status = run.replicas->check();
  run.replicas_checked_at = now_nanos();
  run.replicas_check_nanos = run.replicas_checked_at - start;
  if (status.ok()) return status;
  return std::move(status).with_where(str_cat("step ", run.step));
}

bool Trainer::Impl::replicas_due(const Run& run) const {
  const std::int64_t every = options_.check_replicas_every;
  if (!run.replicas || run.step % (every > 0 ? every : kCheckReplicasEvery) != 0) return false;
  if (every > 0 || run.replicas_checked_at == 0) return true;
  return static_cast<double>(run.replicas_check_nanos) <=
         kCheckReplicasShare * static_cast<double>(now_nanos() - run.replicas_checked_at);
}

Status Trainer::Impl::finish(Run& run) {
  TrainReport& report = run.report;
  const CoreUse use = run.cores ? run.cores->read() : CoreUse{};
  const double counted = run.cores ? seconds_since(run.counted_from) : 0;
  ARGOSY_RETURN_IF_ERROR(check_replicas(run));
  if (run.checkpointer) {
    Status saved = run.saved_step != run.step ? save(run) : ok_status();
    Result<std::string> prefix = saved.ok() ? run.checkpointer->finish() : Result<std::string>(std::move(saved));
    if (!prefix.ok()) {
      return std::move(prefix)
          .status()
          .with_where(options_.checkpoint_dir)
          .with_hint(
              "--checkpoint-dir DIR: a folder on a disk with room; what was trained since the last checkpoint is lost");
    }
    if (!prefix->empty()) report.checkpoint = *prefix;
  }
  if (run.log) {
    ARGOSY_RETURN_IF_ERROR(log_sample_images(run));
    ARGOSY_RETURN_IF_ERROR(run.log->weights(run.step, *program_));
    if (!report.evaluation.empty()) ARGOSY_RETURN_IF_ERROR(run.log->evaluation(run.step, report.evaluation));
    ARGOSY_RETURN_IF_ERROR(run.log->flush());
  }
  report.peak_bytes.clear();  // a checkpoint of what is on a GPU takes some, too
  note_memory(report);
  ScalingVerdict& v = report.verdict;
  v = {.devices = static_cast<int>(devices_.size()),
       .batch = run.loader->options().batch,
       .samples_per_second = report.samples_per_second,
       .breakdown = run.breakdown->breakdown()};
  double speeds = 0;
  for (const DeviceSpec& d : devices_) {
    speeds += d.speed;
    v.emulated = v.emulated || d.kind == DeviceKind::kEmulated;
  }
  v.ideal = speeds / devices_[0].speed;
  v.use = use;
  v.cores = available_cores();
  v.seconds = counted;
  if (devices_.size() > 1 && !options_.verdict) {
    v.not_measured = "one device was not to be measured (--no-verdict)";
  } else if (devices_.size() > 1 && (run.last_feeds.empty() || report.interrupted)) {
    v.not_measured = "the run was interrupted";
  } else if (devices_.size() > 1) {
    // A device alone may have too little memory for the global batch: then there is nothing to compare with.
    auto compared = measure(run.last_feeds, run.last_examples, v.ideal);
    if (compared.ok()) {
      v.interleaved = *compared;
    } else if (compared.status().code() == Code::kResourceExhausted) {
      v.not_measured = str_cat("one device cannot take the global batch: ", compared.status().message());
    } else {
      return std::move(compared).status();
    }
  }
  std::int64_t fits = 0;
  if (check_memory(*program_, 2 * v.batch).code() == Code::kResourceExhausted) fits = v.batch;
  conclude(v, fits, options_.input_threads);
  return ok_status();
}

Status Trainer::Impl::log_sample_images(Run& run) {
  if (program_->built().model.sample_images.empty() || run.last_feeds.empty()) return ok_status();
  std::vector<Tensor> few;
  for (const Tensor& feed : run.last_feeds) few.push_back(feed.rows(0, std::min<std::int64_t>(feed.shape()[0], 3)));
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const program, evaluator());
  ARGOSY_ASSIGN_OR_RETURN(const auto images, program->sample_images(few));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string& name = program->built().model.sample_images[i].name;
    ARGOSY_RETURN_IF_ERROR(run.log->sample_images(run.step, name, images[i]));
  }
  return ok_status();
}

// The first device alone and all, on a device set of their own.
Result<Comparison> Trainer::Impl::measure(const std::vector<Tensor>& feeds, std::int64_t batch, double ideal) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceSet> device_set, DeviceSet::make(options_.devices));
  ARGOSY_ASSIGN_OR_RETURN(const auto alone, make_program({devices_[0]}, true, device_set, false));
  ARGOSY_RETURN_IF_ERROR(check_memory(*alone, batch));
  ARGOSY_ASSIGN_OR_RETURN(const auto all, make_program(devices_, true, device_set, false));
  ARGOSY_RETURN_IF_ERROR(all->initialize());  // the first device's variables are those of the program for it alone
  return measure_interleaved(*alone, *all, feeds, batch, ideal);
}

void Trainer::Impl::note_memory(TrainReport& report) const {
  const DeviceSet& device_set = program_->session().device_set();
  for (int d = 0; d < device_set.size(); ++d) {
    report.peak_bytes.emplace_back(device_set.device(d).spec().name.short_string(),
                                   device_set.device(d).allocator().stats().peak_bytes);
  }
}

Result<CompiledModel*> Trainer::Impl::evaluator() {
  if (!evaluator_) {
    // On the same device set: its variables have the same names, and so are the same.
    ARGOSY_ASSIGN_OR_RETURN(evaluator_, make_program(devices_, false, device_set_));
  }
  return evaluator_.get();
}

Result<Evaluation> Trainer::Impl::evaluate(const data::Dataset& test) {
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const program, evaluator());
  if (evaluation_batch_ == 0) {
    ARGOSY_ASSIGN_OR_RETURN(evaluation_batch_, evaluation_batch(*program, program_.get(), options_.batch));
  }
  return evaluate_all(*program, test, evaluation_batch_);
}

Result<std::vector<std::pair<std::string, Tensor>>> Trainer::Impl::sample_images(const data::Dataset& data,
                                                                                 int examples) {
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const program, evaluator());
  return sample_images_of(*program, data, examples);
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
Result<Evaluation> Trainer::evaluate(const data::Dataset& test) { return impl_->evaluate(test); }
Result<std::vector<std::pair<std::string, Tensor>>> Trainer::sample_images(const data::Dataset& data, int examples) {
  return impl_->sample_images(data, examples);
}
const std::vector<DeviceSpec>& Trainer::devices() const { return impl_->devices(); }
const TrainReport& Trainer::report() const { return impl_->report(); }

}  // namespace argosy
