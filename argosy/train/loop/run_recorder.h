// Measures one run and reports it: speed, time breakdown, memory, TensorBoard log and scaling verdict. Internal to
// loop/.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "argosy/base/threads/core_use.h"
#include "argosy/train/loop/compiled_models.h"
#include "argosy/train/loop/run_log.h"

namespace argosy {

// Used by one thread.
class RunRecorder {
 public:
  // All are borrowed. `report` is filled in as the run goes on.
  RunRecorder(CompiledModels& models, const TrainerOptions& options, TrainReport& report);

  // Opens the log, and reports devices, strategy, placement and planned memory. `batch`: the loader's.
  Status start(std::int64_t batch);

  struct Step {
    std::int64_t index = 0;  // 0: the first of this run
    std::int64_t asked = 0;  // now_nanos() when its batch was requested
    double waited = 0;       // seconds of waiting for its batch
    bool sampled = false;    // `stats` are collected
    std::int64_t examples = 0;
    StepStats stats = {};
  };
  // Before the step runs: sets `step.sampled`.
  void before_step(Step& step);
  // After it ran: `feeds` may serve for measurements at the end.
  void after_step(const Step& step, const std::vector<Tensor>& feeds);

  // Write to the log, if there is one.
  Status log_step(std::int64_t step, double loss);
  Status log_weights(std::int64_t step);
  // Writes an evaluation to the log, and to the report.
  Status evaluated(std::int64_t step, const Evaluation& evaluation);

  // Samples/s since the last logged step; of the last step where none is counted yet.
  double recent_rate() const { return recent_.seconds > 0 ? recent_.rate() : last_.rate(); }

  // After the last step: the speed, and the memory so far.
  void stop(std::int64_t step);
  // Ends the measurement of the cores. Call it before checks and saves at the end.
  void stop_cores();
  // Ends the log, measures one device against all, and draws the verdict. `batch`: the loader's.
  Status finish(std::int64_t step, std::int64_t batch);

 private:
  // Samples over seconds.
  struct Speed {
    double samples = 0, seconds = 0;
    void add(double s, double t) { samples += s, seconds += t; }
    double rate() const { return seconds > 0 ? samples / seconds : 0; }
  };
  Status log_sample_images(std::int64_t step);
  bool writes() const;  // true on the first task
  void note_memory();
  void note_plan();
  Result<Comparison> measure(double ideal);
  // Returns ScalingVerdict::on_network of every task. Every task calls it.
  Result<std::vector<double>> shares_on_network() const;

  CompiledModels& models_;
  const TrainerOptions& options_;
  TrainReport& report_;
  std::unique_ptr<RunLog> log_;               // null: none
  std::vector<MemoryForecast> forecast_;      // of the training step
  std::vector<MemoryForecast> first_values_;  // of the run before it, which gives variables their first values
  Speed speed_, recent_, last_;               // of all counted steps, of those since the last log entry, of the last
  TimeBreakdownMeter breakdown_;
  std::optional<CoreUseMeter> cores_;  // from the first counted step
  std::int64_t counted_from_ = 0;      // time of that step
  CoreUse use_ = {};
  double counted_seconds_ = 0;
  double on_network_ = 0;           // seconds, over tasks: at the first counted step, then from there to the end
  std::vector<Tensor> last_feeds_;  // of the last batch of full size
  std::int64_t last_examples_ = 0;
};

}  // namespace argosy
