#include "argosy/train/loop/run_recorder.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/train/report/measure_interleaved.h"
#include "argosy/train/report/memory_check.h"
#include "argosy/train/report/state_bytes.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

namespace {

constexpr std::int64_t kWarmUpSteps = 3;  // they compile and touch memory first: not part of the speed
constexpr std::int64_t kSampleStatsEvery = 4;

// Returns the names of the devices of this process.
std::vector<DeviceName> names_of(const CompiledModels& models) {
  std::vector<DeviceName> names;
  const RunTasks* const tasks = models.tasks().get();
  for (std::size_t d = 0; d < models.devices().size(); ++d) {
    if (tasks == nullptr) {
      names.push_back(models.devices()[d].name);
    } else if (tasks->is_own(d)) {
      const std::size_t local = d - static_cast<std::size_t>(tasks->task_devices().first(tasks->rank()));
      names.push_back(*DeviceName::parse(tasks->task_devices().local[local]));
    }
  }
  return names;
}

}  // namespace

RunRecorder::RunRecorder(CompiledModels& models, const TrainerOptions& options, TrainReport& report)
    : models_(models), options_(options), report_(report), breakdown_(names_of(models)) {}

bool RunRecorder::writes() const { return models_.tasks() == nullptr || models_.tasks()->is_first(); }

Status RunRecorder::start(std::int64_t batch) {
  CompiledModel& program = models_.training();
  if (!options_.log_dir.empty() && writes()) {
    auto opened = RunLog::open(options_.log_dir, program.built());
    if (!opened.ok()) {
      return std::move(opened)
          .status()
          .with_where(options_.log_dir)
          .with_hint("--log-dir DIR: a folder that may be written");
    }
    log_ = *std::move(opened);
  }
  report_.devices = models_.devices();
  report_.strategy = program.parallel().summary();
  if (options_.log_device_placement) {
    ARGOSY_ASSIGN_OR_RETURN(const PlacementReport placement, program.placement(batch));
    report_.placement = placement.summary();
  }
  ARGOSY_ASSIGN_OR_RETURN(forecast_, program.step_forecast(batch));
  ARGOSY_ASSIGN_OR_RETURN(first_values_, program.first_values_forecast());
  note_plan();
  return ok_status();
}

void RunRecorder::before_step(Step& step) {
  if (step.index == kWarmUpSteps) {
    cores_.emplace();
    counted_from_ = now_nanos();
    if (models_.tasks() != nullptr) on_network_ = models_.tasks()->net().use().seconds;
  }
  // A short run samples at least its last step, unless that is its first.
  const std::int64_t at = report_.first_step + step.index;
  const bool last = at + 1 == report_.total_steps && step.index > 0 && breakdown_.steps() == 0;
  step.sampled = last || (step.index >= kWarmUpSteps && step.index % kSampleStatsEvery == 0);
}

void RunRecorder::after_step(const Step& step, const std::vector<Tensor>& feeds) {
  last_ = {.samples = static_cast<double>(step.examples), .seconds = seconds_since(step.asked)};
  if (step.index >= kWarmUpSteps) {
    speed_.add(last_.samples, last_.seconds);
    recent_.add(last_.samples, last_.seconds);
  }
  if (step.sampled) breakdown_.add(step.stats, step.waited);
  // A last, smaller batch would not show the usual speed.
  if (step.examples >= last_examples_) {
    last_feeds_ = feeds;
    last_examples_ = step.examples;
  }
}

Status RunRecorder::log_step(std::int64_t step, double loss) {
  if (!log_ || step % options_.log_every != 0) return ok_status();
  ARGOSY_RETURN_IF_ERROR(log_->step(step, loss, options_.optimizer.learning_rate().at(step - 1), recent_rate()));
  recent_ = {};
  return ok_status();
}

Status RunRecorder::log_weights(std::int64_t step) {
  // Slots in shards come from every task.
  if (!options_.log_dir.empty() && !writes()) return models_.training().variables().status();
  return log_ ? log_->weights(step, models_.training()) : ok_status();
}

Status RunRecorder::evaluated(std::int64_t step, const Evaluation& evaluation) {
  report_.evaluation = evaluation;
  return log_ ? log_->evaluation(step, evaluation) : ok_status();
}

void RunRecorder::stop(std::int64_t step) {
  report_.steps = step;
  // A run of few steps has none but those that warm up: the last one then tells most.
  report_.samples_per_second = speed_.seconds > 0 ? speed_.rate() : last_.rate();
  note_memory();
}

void RunRecorder::stop_cores() {
  use_ = cores_ ? cores_->read() : CoreUse{};
  counted_seconds_ = cores_ ? seconds_since(counted_from_) : 0;
  if (models_.tasks() != nullptr) on_network_ = models_.tasks()->net().use().seconds - on_network_;
}

Result<std::vector<double>> RunRecorder::shares_on_network() const {
  std::vector<double> shares;
  if (models_.tasks() == nullptr) return shares;
  const double own = counted_seconds_ > 0 ? on_network_ / counted_seconds_ : -1;
  ARGOSY_ASSIGN_OR_RETURN(const auto all,
                          models_.tasks()->all_texts(std::string(reinterpret_cast<const char*>(&own), sizeof own),
                                                     "shares of time on the network"));
  for (const std::string& text : all) {
    if (text.size() != sizeof(double)) return internal_error("a task told no share of its time");
    double share = 0;
    std::memcpy(&share, text.data(), sizeof share);
    if (share < 0) return std::vector<double>();
    shares.push_back(std::min(share, 1.0));
  }
  return shares;
}

Status RunRecorder::finish(std::int64_t step, std::int64_t batch) {
  if (!options_.log_dir.empty()) {
    ARGOSY_RETURN_IF_ERROR(log_sample_images(step));
    ARGOSY_RETURN_IF_ERROR(log_weights(step));
  }
  if (log_) {
    if (!report_.evaluation.empty()) ARGOSY_RETURN_IF_ERROR(log_->evaluation(step, report_.evaluation));
    ARGOSY_RETURN_IF_ERROR(log_->flush());
  }
  note_memory();  // a checkpoint of variables on a GPU needs some, too
  const std::vector<DeviceSpec>& devices = models_.devices();
  ScalingVerdict& v = report_.verdict;
  v = {.devices = static_cast<int>(devices.size()),
       .tasks = models_.tasks() != nullptr ? models_.tasks()->size() : 1,
       .batch = batch,
       .samples_per_second = report_.samples_per_second,
       .breakdown = breakdown_.breakdown()};
  double speeds = 0;
  for (const DeviceSpec& d : devices) speeds += d.speed;
  v.ideal = speeds / devices[0].speed;
  v.use = use_;
  v.cores = available_cores();
  v.seconds = counted_seconds_;
  ARGOSY_ASSIGN_OR_RETURN(v.on_network, shares_on_network());
  if (devices.size() > 1 && !options_.verdict) {
    v.not_measured = "one device was not to be measured (--no-verdict)";
  } else if (models_.tasks() != nullptr) {
    v.not_measured = "one device alone is measured where there is one task";
  } else if (devices.size() > 1 && (last_feeds_.empty() || report_.interrupted)) {
    v.not_measured = "the run was interrupted";
  } else if (devices.size() > 1) {
    // One device may have too little memory for the global batch: then there is nothing to compare with.
    auto compared = measure(v.ideal);
    if (compared.ok()) {
      v.interleaved = *compared;
    } else if (compared.status().code() == Code::kResourceExhausted) {
      v.not_measured = str_cat("one device cannot take the global batch: ", compared.status().message());
    } else {
      return std::move(compared).status();
    }
  }
  std::int64_t fits = 0;
  if (check_memory(models_.training(), 2 * v.batch).code() == Code::kResourceExhausted) fits = v.batch;
  conclude(v, fits, options_.input_threads);
  return ok_status();
}

Status RunRecorder::log_sample_images(std::int64_t step) {
  const auto& named = models_.training().built().model.sample_images;
  if (named.empty() || last_feeds_.empty()) return ok_status();
  std::vector<Tensor> few;
  for (const Tensor& feed : last_feeds_) few.push_back(feed.rows(0, std::min<std::int64_t>(feed.shape()[0], 3)));
  // The other tasks have not read these rows: the first task sends them.
  if (models_.tasks() != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(few, models_.tasks()->from_first(std::move(few)));
  }
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const evaluator, models_.evaluator());
  ARGOSY_ASSIGN_OR_RETURN(const auto images, evaluator->sample_images(few));
  for (std::size_t i = 0; i < images.size() && log_ != nullptr; ++i) {
    const std::string& name = evaluator->built().model.sample_images[i].name;
    ARGOSY_RETURN_IF_ERROR(log_->sample_images(step, name, images[i]));
  }
  return ok_status();
}

// Compares the first device with all, on a new device set.
Result<Comparison> RunRecorder::measure(double ideal) {
  ARGOSY_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceSet> device_set, DeviceSet::make(options_.devices));
  ARGOSY_ASSIGN_OR_RETURN(const auto alone, models_.make_measured({models_.devices()[0]}, device_set));
  ARGOSY_RETURN_IF_ERROR(check_memory(*alone, last_examples_));
  ARGOSY_ASSIGN_OR_RETURN(const auto all, models_.make_measured(models_.devices(), device_set));
  // Both models share the first device's variables. Sharded slots are other variables than whole ones.
  ARGOSY_RETURN_IF_ERROR(alone->initialize());
  ARGOSY_RETURN_IF_ERROR(all->initialize());
  return measure_interleaved(*alone, *all, last_feeds_, last_examples_, ideal);
}

// Reports the planned memory of the steps that are compiled by now.
void RunRecorder::note_plan() {
  report_.planned_bytes.clear();
  const auto steps = of_both_steps(forecast_, models_.evaluation_forecast());
  for (const MemoryForecast& f : larger_by_device(steps, first_values_)) {
    report_.planned_bytes.emplace_back(f.device.short_string(), f.total_bytes());
  }
}

void RunRecorder::note_memory() {
  note_plan();
  report_.peak_bytes.clear();
  const DeviceSet& device_set = models_.training().session().device_set();
  report_.state_bytes = state_bytes(device_set);
  for (int d = 0; d < device_set.size(); ++d) {
    report_.peak_bytes.emplace_back(device_set.device(d).spec().name.short_string(),
                                    device_set.device(d).allocator().stats().peak_bytes);
  }
}

}  // namespace argosy
