#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "argosy/train/loop/ensemble.h"
#include "argosy/train/models/models.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/error_json.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/interrupt.h"
#include "tools/argosy/cli/progress.h"
#include "tools/argosy/plan/plan_file.h"
#include "tools/argosy/train/train_choices.h"
#include "tools/argosy/train/train_determinism.h"
#include "tools/argosy/train/train_job_end.h"
#include "tools/argosy/train/train_tasks.h"

namespace argosy::cli {

namespace {

using Json = nlohmann::ordered_json;

Json by_device(const std::vector<std::pair<std::string, std::uint64_t>>& bytes) {
  Json object = Json::object();
  for (const auto& [device, n] : bytes) object[device] = n;
  return object;
}

Json to_json(const std::vector<DeviceSpec>& devices) {
  Json list = Json::array();
  for (const DeviceSpec& d : devices) {
    list.push_back({{"name", d.name.to_string()}, {"kind", device_kind_name(d.kind)}, {"description", d.description}});
  }
  return list;
}

Json to_json(const Range& r) { return {{"low", r.low}, {"median", r.middle}, {"high", r.high}}; }

// What is trained on, and how images and model were fitted to each other.
template <typename Job>
std::string data_text(const Job& job) {
  return str_cat(job.train->describe(), job.note.empty() ? "" : "; ", job.note);
}

// Null where nothing was measured.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// What one device and several did in turn, and why that says nothing, if it does not.
Json interleaved_json(const std::optional<Comparison>& c) {
  if (!c) return nullptr;
  return {
      {"rounds", c->rounds}, {"one", to_json(c->one)}, {"many", to_json(c->many)}, {"speedup", to_json(c->speedup)}};
}

Json to_json(const ScalingVerdict& v) {
  const bool advises = !v.advice.empty();
  Json over_tasks = nullptr;
  if (v.tasks > 1) {
    over_tasks = {{"tasks", v.tasks},
                  {"waiting_for_sums", v.breakdown.all_reduce},
                  {"twice", number_or_null(v.on_tasks(2 * v.tasks))},
                  {"half", number_or_null(v.on_tasks(v.tasks / 2))},
                  {"on_network", v.on_network},
                  {"waits_for", v.straggler() < 0 ? Json(nullptr) : Json(v.straggler())}};
  }
  return {{"devices", v.devices},
          {"samples_per_second", v.samples_per_second},
          {"one_device_samples_per_second", v.interleaved ? Json(v.interleaved->one.middle) : Json(nullptr)},
          {"speedup", number_or_null(v.speedup())},
          {"efficiency", number_or_null(v.efficiency())},
          {"not_measured", v.not_measured.empty() ? Json(nullptr) : Json(v.not_measured)},
          {"in_turn", interleaved_json(v.interleaved)},
          {"shares",
           {{"compute", v.breakdown.compute},
            {"all_reduce", v.breakdown.all_reduce},
            {"input", v.breakdown.input},
            {"copies", v.breakdown.copies},
            {"overhead", v.breakdown.overhead}}},
          {"over_tasks", over_tasks},
          {"bound", v.bound},
          {"advice", advises ? Json(v.advice) : Json(nullptr)},
          {"predicted_gain", advises ? Json(v.predicted_gain) : Json(nullptr)}};
}

Json to_json(const TrainChoices& choices, const StrategySpec& strategy, const TrainReport& report,
             const std::string& other_bits) {
  Json accuracy = nullptr;
  for (const auto& [name, value] : report.evaluation) {
    if (name == "accuracy") accuracy = value;
  }
  Json evaluation = Json::object();
  for (const auto& [name, value] : report.evaluation) evaluation[name] = value;
  return {{"schema_version", 1},
          {"model", choices.model},
          {"devices", to_json(report.devices)},
          {"strategy", strategy.to_string()},
          {"steps", report.steps},
          {"first_step", report.first_step},
          {"total_steps", report.total_steps},
          {"losses", report.losses},
          {"samples_per_second", report.samples_per_second},
          {"seconds", report.seconds},
          {"test_accuracy", accuracy},
          {"evaluation", evaluation},
          {"peak_bytes", by_device(report.peak_bytes)},
          {"planned_bytes", by_device(report.planned_bytes)},
          {"state_bytes", by_device(report.state_bytes)},
          {"verdict", to_json(report.verdict)},
          {"checked_steps", report.checked_steps},
          {"largest_difference",
           report.checked_steps > 0 ? number_or_null(report.largest_difference.relative) : Json(nullptr)},
          {"not_checked", report.not_checked.empty() ? Json(nullptr) : Json(report.not_checked)},
          {"other_bits", other_bits.empty() ? Json(nullptr) : Json(other_bits)},
          {"checkpoint", report.checkpoint.empty() ? Json(nullptr) : Json(report.checkpoint)},
          {"interrupted", report.interrupted}};
}

// A step's loss and the accuracy are the members' means.
Json to_json(const EnsembleReport& report) {
  Json members = Json::array();
  const auto all = static_cast<double>(report.members.size());
  const std::size_t steps = report.members[0].losses.size();
  std::vector<double> losses(steps);
  double accuracy = 0;
  for (const auto& m : report.members) {
    members.push_back({{"scope", m.scope},
                       {"device", m.device},
                       {"variables", m.variables},
                       {"losses", m.losses},
                       {"test_accuracy", m.accuracy ? Json(*m.accuracy) : Json(nullptr)}});
    for (std::size_t i = 0; i < steps; ++i) losses[i] += m.losses[i] / all;
    accuracy += m.accuracy.value_or(0) / all;
  }
  return {{"schema_version", 1},
          {"model", "ensemble"},
          {"devices", to_json(report.devices)},
          {"steps", steps},
          {"losses", losses},
          {"samples_per_second", report.samples_per_second},
          {"test_accuracy", report.members[0].accuracy ? Json(accuracy) : Json(nullptr)},
          {"peak_bytes", by_device(report.peak_bytes)},
          {"planned_bytes", by_device(report.planned_bytes)},
          {"members", members},
          {"side_by_side_seconds", report.side_by_side_seconds},
          {"one_after_another_seconds", report.one_after_another_seconds},
          {"speedup", number_or_null(report.speedup())},
          {"identical", report.identical},
          {"verdict",
           {{"devices", report.devices.size()},
            {"speedup", number_or_null(report.speedup())},
            {"not_measured", report.speed.not_measured.empty() ? Json(nullptr) : Json(report.speed.not_measured)},
            {"in_turn", interleaved_json(report.speed)}}},
          {"checkpoint", nullptr},
          {"interrupted", false}};
}

std::string speedup_text(const Comparison& c) {
  if (!c.not_measured.empty()) return str_cat("not measured: ", c.not_measured);
  return str_cat(static_cast<float>(c.speedup.middle), " x (", static_cast<float>(c.speedup.low), " to ",
                 static_cast<float>(c.speedup.high), ")");
}

std::string memory_text(const std::vector<std::pair<std::string, std::uint64_t>>& planned,
                        const std::vector<std::pair<std::string, std::uint64_t>>& peak) {
  std::string text;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    text += str_cat("memory   ", planned[i].first, "  planned ", format_bytes(planned[i].second));
    if (i < peak.size()) text += str_cat(", peak ", format_bytes(peak[i].second));
    text += "\n";
  }
  return text;
}

// The measured results: they hold even if a checkpoint or picture fails later.
std::string results_text(const TrainReport& report) {
  std::string text;
  if (!report.losses.empty()) {
    text += str_cat("trained  ", count_of(std::ssize(report.losses), "step"), " in ", format_duration(report.seconds),
                    ", loss ", static_cast<float>(report.losses.front()), " -> ",
                    static_cast<float>(report.losses.back()), "\n");
  } else if (report.total_steps > 0 && report.first_step >= report.total_steps) {
    text += str_cat("finished ", report.checkpoint, " is at step ", report.first_step, " of ", report.total_steps,
                    ": nothing is left to train; --steps ", 2 * report.first_step, " goes on\n");
  }
  for (const auto& [name, value] : report.evaluation)
    text += str_cat("test     ", name, " ", static_cast<float>(value), "\n");
  if (report.checked_steps > 0) {
    const StepDifference& d = report.largest_difference;
    text += str_cat("checked  ", count_of(report.checked_steps, "step"), ": loss and variables as on one device, ",
                    d.relative == 0
                        ? std::string("to the bit")
                        : str_cat("largest relative difference ", static_cast<float>(d.relative), " of ", d.value),
                    "\n");
  }
  if (!report.not_checked.empty()) text += str_cat("not checked: ", report.not_checked, "\n");
  return text + memory_text(report.planned_bytes, report.peak_bytes);
}

std::string machine_note(const std::vector<DeviceSpec>& devices) {
  const std::string numbers = machine_numbers(devices);
  return numbers.empty() ? numbers : str_cat("; ", numbers);
}

void announce(const std::vector<DeviceSpec>& devices, const TrainJob& job, const TrainChoices& choices,
              Console& console) {
  std::string line = str_cat(choices.model, " on ", count_of(std::ssize(devices), "device"), ": ");
  bool gpu = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    line += str_cat(i > 0 ? ", " : "", devices[i].name.short_string(), " (", device_kind_name(devices[i].kind), ")");
    gpu = gpu || devices[i].is_gpu();
  }
  console.note(str_cat(line, machine_note(devices), gpu ? "" : "; no GPU here: rehearse with --emulate 2"));
  console.note(str_cat("data  ", data_text(job)));
}

// Where a run begins, when that may surprise.
void note_begin(const TrainReport& report, const TrainChoices& choices, Console& console) {
  if (!report.replaces.empty()) {
    console.note(str_cat(choices.checkpoint_dir, " holds checkpoints of an earlier run, the newest ", report.replaces,
                         ": this run began anew. --resume takes the highest step in the folder, whichever run's: give "
                         "each run its own"));
  } else if (choices.resume && report.first_step == 0 && !report.losses.empty()) {
    console.note(str_cat("no checkpoint in ", choices.checkpoint_dir, ": this run began at step 0"));
  }
}

// Rounding was checked while it ran (ARG-CHECK-001). Where one device's bits are promised, no difference is allowed.
Status check_promise(const TrainChoices& choices, const TrainReport& report, const std::string& other_bits) {
  const StepDifference& d = report.largest_difference;
  if (report.checked_steps == 0 || !other_bits.empty() || d.variables == 0) return ok_status();
  return internal_error("variables after the step differ from one device's by ", static_cast<float>(d.variables),
                        "; on these devices ", choices.model, " promises one device's bits")
      .with_id("ARG-CHECK-002")
      .with_where("step 0")
      .with_hint("report it; --devices 1 trains without it");
}

// The tasks of a job make the pictures together; the first writes them and tells.
Result<int> end_quietly(const TrainChoices& choices, const TrainJob& job, Trainer& trainer, const Status& failed,
                        int signal) {
  const TrainReport& report = trainer.report();
  if (!failed.ok()) return failed;
  if (!report.interrupted && !choices.picture.empty()) {
    const data::Dataset& data = job.test != nullptr ? *job.test : *job.train;
    ARGOSY_RETURN_IF_ERROR(
        trainer.sample_images(data, static_cast<int>(std::min<std::int64_t>(8, data.size()))).status());
  }
  if (!report.interrupted) return kDone;
  return choices.checkpoint_dir.empty() ? 128 + signal : kInterrupted;
}

// What went wrong after the training, at the first of these: the checkpoint, event files, the picture.
Result<int> tell(const TrainChoices& choices, const TrainJob& job, Trainer& trainer, Status failed, int signal,
                 const JobTasks* tasks, Console& console) {
  const TrainReport& report = trainer.report();
  if (!failed.ok() && report.losses.empty()) return failed;  // nothing was measured
  note_begin(report, choices, console);
  if (report.devices.size() > 1 || !(job.options.strategy == StrategySpec{})) {
    console.note(str_cat("strategy    ", job.options.strategy.to_string(), " on ",
                         count_of(std::ssize(report.devices), "device")));
    const std::string empty =
        job.options.strategy.empty_micro_batches(static_cast<int>(report.devices.size()), job.options.batch);
    if (!empty.empty()) console.note(str_cat("waits       ", empty));
  }
  if (report.devices.size() > 1 && !report.strategy.empty()) console.note(str_cat("replicated  ", report.strategy));
  const std::string other_bits = why_not_bit_identical(choices, report.devices,
                                                       {.batch = job.options.batch,
                                                        .examples = job.train->size(),
                                                        .steps = report.total_steps,
                                                        .accumulate = job.options.strategy.accumulate});
  if (!other_bits.empty()) {
    console.note(
        str_cat("bits        the last digits may differ from one device's: ", other_bits,
                choices.reproducible
                    ? ""
                    : str_cat(" (", flags_for_equal_bits(report.devices.size(), job.options.strategy.accumulate),
                              " makes them equal)")));
  }
  if (!report.placement.empty()) console.note(report.placement);
  if (!console.json()) {
    std::string text = results_text(report);
    if (failed.ok() && !report.losses.empty() && !report.checkpoint.empty()) {
      text += str_cat("saved    ", report.checkpoint, "\n");
    }
    if (failed.ok() && !report.losses.empty()) text += report.verdict.to_string();
    console.print(text);
    ARGOSY_RETURN_IF_ERROR(console.flush());
  }
  std::string picture;
  if (failed.ok() && !report.interrupted && !choices.picture.empty()) {
    auto written = write_sample_images(trainer, job.test != nullptr ? *job.test : *job.train, choices.picture);
    if (written.ok()) {
      picture = *written;
    } else {
      failed = std::move(written)
                   .status()
                   .with_where("--picture")
                   .with_hint("--picture FILE in a folder that may be written");
    }
  }
  if (console.json()) {
    Json document = to_json(choices, job.options.strategy, report, other_bits);
    document["data"] = data_text(job);
    if (tasks != nullptr) document["tasks"] = tasks_json(*tasks, report.devices);
    if (!picture.empty()) document["picture"] = picture;
    if (!failed.ok()) document["error"] = error_json(failed, "argosy train");
    console.print(document.dump(2) + "\n");
  } else if (!picture.empty()) {
    console.print(str_cat("picture  ", picture, "\n"));
  }
  if (!failed.ok()) return failed;
  if (choices.check_strategy) ARGOSY_RETURN_IF_ERROR(check_promise(choices, report, other_bits));
  if (!report.interrupted) return kDone;
  // "Run it again" is said only where it would go on.
  return report.checkpoint.empty() ? 128 + signal : kInterrupted;
}

Result<int> train_one(TrainChoices choices, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const JobPlace place, take_place());
  ARGOSY_RETURN_IF_ERROR(refuse_task_flags(place, choices));
  if (choices.model == "autoencoder" && choices.picture.empty()) choices.picture = "reconstruction.png";
  ARGOSY_ASSIGN_OR_RETURN(TrainJob job, make_job(choices));
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<JobTasks> tasks, join_training(place, choices, console));
  job.options.tasks = tasks.get();
  std::optional<JobEnd> end;
  if (tasks != nullptr) end.emplace(*tasks, console, "argosy train");
  const bool tells = tasks == nullptr || tasks->rank() == 0;  // the other tasks are silent
  Interrupt interrupt(
      choices.checkpoint_dir.empty()
          ? "finishing this step; once more to stop at once (--checkpoint-dir DIR would keep what was trained)"
          : "finishing this step and writing a checkpoint; once more to stop at once");
  std::unique_ptr<Progress> progress;
  job.options.progress = [&](const TrainProgress& p) {
    if (!tells) return !interrupt.requested();
    if (progress == nullptr) progress = std::make_unique<Progress>(console, "train", p.total_steps);
    for (const auto& [name, value] : p.evaluation) {
      progress->note(str_cat("step ", p.step, "  test ", name, " ", static_cast<float>(value)));
    }
    if (progress->due()) {
      progress->update(
          p.step, str_cat("loss ", static_cast<float>(p.loss), "  ", format_rate(p.samples_per_second), " samples/s"));
    }
    return !interrupt.requested();
  };
  ARGOSY_ASSIGN_OR_RETURN(const std::string chosen, resolve_strategy(choices, job));
  if (!chosen.empty()) console.note(str_cat("strategy  ", chosen));
  ARGOSY_ASSIGN_OR_RETURN(auto trainer, Trainer::make(job.model, job.options));
  if (tells) announce(trainer->devices(), job, choices, console);
  if (tells && tasks != nullptr) console.note(str_cat("tasks  ", tasks_text(*tasks, trainer->devices())));
  const Status status = trainer->fit(*job.train, job.test.get()).status();
  progress.reset();
  Result<int> code = tells ? tell(choices, job, *trainer, status, interrupt.signal(), tasks.get(), console)
                           : end_quietly(choices, job, *trainer, status, interrupt.signal());
  if (tasks == nullptr) return code;
  // A picture or a full standard output may have failed after the training.
  if (status.ok() && !code.ok()) return tasks->fail(code.status());
  trainer.reset();  // it waits for the other tasks'
  if (status.ok()) ARGOSY_RETURN_IF_ERROR(tasks->leave());
  return code;
}

Result<int> train_many(const TrainChoices& choices, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const JobPlace place, take_place());
  if (place.size > 1) return join_training(place, choices, console).status();
  ARGOSY_ASSIGN_OR_RETURN(const EnsembleJob job, make_ensemble_job(choices));
  console.note(str_cat("data  ", data_text(job)));
  Interrupt interrupt("finishing this step; once more to stop at once");
  EnsembleOptions options = job.options;
  Progress progress(console, "ensemble", 2 * options.steps);
  options.progress = [&](std::int64_t done, std::int64_t) {
    progress.update(done);
    return !interrupt.requested();
  };
  auto report = train_ensemble(options, *job.train, job.test.get());
  progress.finish();
  if (!report.ok() && report.status().code() == Code::kCancelled && interrupt.requested()) {
    console.note("stopped: an ensemble writes no checkpoints, nothing of it is kept");
    if (console.json()) {
      const Json document = {
          {"schema_version", 1}, {"model", "ensemble"}, {"checkpoint", nullptr}, {"interrupted", true}};
      console.print(document.dump(2) + "\n");
    }
    return 128 + interrupt.signal();
  }
  if (!report.ok()) return std::move(report).status();
  if (!report->placement.empty()) console.note(report->placement);
  if (console.json()) {
    Json document = to_json(*report);
    document["data"] = data_text(job);
    console.print(document.dump(2) + "\n");
  } else {
    std::string text;
    for (const auto& m : report->members) {
      text += str_cat(m.scope, " on ", m.device, "  loss ", static_cast<float>(m.losses.empty() ? 0 : m.losses.back()),
                      "  test accuracy ", m.accuracy ? str_cat(static_cast<float>(*m.accuracy)) : "not measured", "\n");
    }
    text += memory_text(report->planned_bytes, report->peak_bytes);
    text += str_cat("side by side       ", static_cast<float>(report->side_by_side_seconds), " s\n",
                    "one after another  ", static_cast<float>(report->one_after_another_seconds), " s\n",
                    "speed-up           ", speedup_text(report->speed), "\n", "results            ",
                    report->identical ? "identical in both" : "DIFFER", "\n");
    console.print(text);
  }
  return report->identical ? kDone : kFailed;
}

}  // namespace

void define_train(Command& program) {
  Command& train = program.add("train", "Train a model on one device or many");
  auto& choices = train.own<TrainChoices>();
  add_train_flags(train, choices);
  train.json()
      .example("argosy train autoencoder --emulate 2", "a convolutional auto-encoder on two emulated GPUs")
      .example("argosy train lenet --data data/mnist --epochs 3", "LeNet on MNIST, with its test accuracy")
      .example("argosy train autoencoder --data data/mnist --gpus 2", "on the first two GPUs")
      .example("argosy train mlp --data data/mnist --checkpoint-dir runs/a --resume", "go on with that run")
      .about(
          "Batches are global: any number of devices gives the same losses but for the rounding of sums, and dropout "
          "drops the same elements (batch normalisation looks at each device's shard, without --sync-batch-norm). On "
          "1, 2, 4 and 8 devices mlp and lenet end with the same variables to the bit, for batches of 24 to 512; so "
          "does "
          "autoencoder where the devices' shards are even; with --reproducible every model does. Ends with a verdict: "
          "what the devices brought, where the time went, one change that would help.")
      .runs([&choices](Console& console) {
        return choices.model == "ensemble" ? train_many(choices, console) : train_one(choices, console);
      });
}

}  // namespace argosy::cli
