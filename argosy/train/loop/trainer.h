// Trainer: trains a model on a dataset, on one device or many.
//
//   auto trainer = Trainer::make(lenet, {.optimizer = adam(1e-3), .devices = {.devices = "gpu:0,gpu:1"}, .epochs = 3});
//   Result<TrainReport> report = (*trainer)->fit(*train_data, test_data.get());
//
// Batches are global: two devices divide the batch of one, and the result is the same. With a checkpoint directory, a
// run that dies at any moment resumes from its last checkpoint. No example is lost or repeated, on any number of
// devices. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/data/dataset.h"
#include "argosy/device/device.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/train/loop/step_difference.h"
#include "argosy/train/model/model.h"
#include "argosy/train/model/optimizers.h"
#include "argosy/train/report/verdict.h"

namespace argosy {

class JobTasks;  // argosy/cluster/job_tasks.h

// The argument of TrainerOptions::progress.
struct TrainProgress {
  std::int64_t step = 0;                                        // steps done
  std::int64_t total_steps = 0;                                 // 0: not known
  double epoch = 0;                                             // 1.5: half of the second epoch is done
  double loss = 0;                                              // of the last step
  double samples_per_second = 0;                                // of the last steps
  std::vector<std::pair<std::string, double>> evaluation = {};  // not empty right after an evaluation
};

// The optimizer, the devices, the data and the output of a training.
struct TrainerOptions {
  Optimizer optimizer = adam(1e-3);  // its rule and rate
  MinimizeOptions minimize = {};     // clipping
  DeviceRequest devices = {};        // that train
  // True: the same bits on any number of devices of one kind and for any number of micro-batches. A step has a fixed
  // number of logical shards, `shards`.
  bool reproducible = false;
  int shards = 0;                                    // at least devices * micro-batches; 0: the larger of 8 and devices
  bool sync_batch_norm = false;                      // see DataParallelOptions
  std::optional<PlacementKind> loss_placement = {};  // unset: found from the graph
  // How the devices share the work. "auto" and "@FILE" must be resolved before (argosy/planner/planner.h).
  StrategySpec strategy = {};

  std::int64_t batch = 128;         // the global batch: examples per step over all devices
  std::int64_t steps = 0;           // in total, counted from the first run's start; 0: by epochs
  std::int64_t epochs = 1;          // used if steps is 0
  std::uint64_t seed = 0;           // of initial values, example order and dropout
  DType dtype = DType::kFloat32;    // of variables
  DType compute = DType::kInvalid;  // kBfloat16: mixed precision
  int input_threads = 1;            // that read batches

  std::string checkpoint_dir = "";    // "": none are written
  std::int64_t checkpoint_every = 0;  // steps; 0: only at the end
  int checkpoints_to_keep = 3;        // older ones are removed
  bool resume = false;  // from the newest checkpoint in checkpoint_dir; FAILED_PRECONDITION if it does not fit

  std::string log_dir = "";     // TensorBoard event files; "": none
  std::int64_t log_every = 10;  // steps

  // Steps between two checks for silent data corruption (sdc_check.h). A run also checks before each checkpoint and at
  // its end. -1: every 100 steps, more rarely where checks take more than 1 % of the time. 0: no checks at all.
  std::int64_t check_replicas_every = -1;
  // The first `check_steps` steps also run on one device, from the same state. INTERNAL "ARG-CHECK-001" names the loss
  // or the variable that differs (argosy/strategy/data_parallel/step_equivalence.h). No effect on one device without
  // micro-batches.
  std::int64_t check_steps = 0;
  bool verdict = true;                // with several devices: measure one device and all in turn at the end
  bool stop_on_nan = true;            // a loss that is not finite ends the run with ABORTED
  int patience = 0;                   // stop after so many epochs without a better first metric; 0: never
  std::string trace_path = "";        // Chrome trace of the training steps; "": $ARGOSY_TRACE, else none
  bool log_device_placement = false;  // prints where each node runs

  // The tasks that train this model together, each with these options and devices of its own. `devices` are this
  // task's; the batch is that of all. Task 0 alone writes checkpoints and logs. Outlives the trainer. Null: this
  // process alone.
  JobTasks* tasks = nullptr;

  // Called after every step; false ends the run after a last checkpoint.
  std::function<bool(const TrainProgress&)> progress = {};
};

// The result of fit().
struct TrainReport {
  std::vector<DeviceSpec> devices;                                               // that trained
  std::int64_t first_step = 0;                                                   // step at which this run began
  std::int64_t steps = 0;                                                        // step at which it ended
  std::int64_t total_steps = 0;                                                  // step at which it was to end
  std::vector<double> losses;                                                    // of this run's steps
  double samples_per_second = 0;                                                 // of the training steps alone
  double seconds = 0;                                                            // of training, in all
  std::vector<std::pair<std::string, double>> evaluation;                        // the last one, by metric
  std::vector<std::pair<std::string, std::uint64_t>> peak_bytes, planned_bytes;  // by device
  // By device: the bytes of variables and slots at the end.
  std::vector<std::pair<std::string, std::uint64_t>> state_bytes;
  ScalingVerdict verdict;             // one device and all
  std::int64_t checked_steps = 0;     // steps that equal one device's
  StepDifference largest_difference;  // of these steps
  std::string not_checked;            // why some of check_steps were not compared; "": all were, or check_steps is 0
  std::string strategy;               // how the graph was replicated, in one line
  std::string placement;              // a summary, if options.log_device_placement
  std::string checkpoint;             // prefix of the last one; "": none
  std::string replaces;      // prefix of an earlier run's newest checkpoint in the folder, if this run began anew
  bool interrupted = false;  // progress() returned false
};

class Trainer {
 public:
  // Builds the graph, replicates it and checks that it fits in memory. INVALID_ARGUMENT: the model or the options are
  // wrong. RESOURCE_EXHAUSTED: it does not fit.
  static Result<std::unique_ptr<Trainer>> make(ModelBuilder model, TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains; evaluates on `test`, if given, after every epoch and at the end. FAILED_PRECONDITION (ARG-CKPT-011): the
  // checkpoint folder holds another model.
  Result<TrainReport> fit(const data::Dataset& train, const data::Dataset* test = nullptr);
  // The model's metrics over all examples of `test`, by name.
  Result<std::vector<std::pair<std::string, double>>> evaluate(const data::Dataset& test);
  // The model's sample images of the first `examples`, as [n, height, width, channels] of floats, by name.
  Result<std::vector<std::pair<std::string, Tensor>>> sample_images(const data::Dataset& data, int examples);

  const std::vector<DeviceSpec>& devices() const;  // that train
  // The report of the last fit(). If fit() failed (a checkpoint could not be written, a loss was not finite), it holds
  // what was measured before.
  const TrainReport& report() const;

 private:
  class Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy
