// Trainer: from a model and a dataset to a trained model, on one device or many.
//
//   auto trainer = Trainer::make(lenet, {.optimizer = adam(1e-3), .devices = {.devices = "gpu:0,gpu:1"}, .epochs = 3});
//   Result<TrainReport> report = (*trainer)->fit(*train_data, test_data.get());
//
// Batches are global: two devices share the batch that one had, and the result is the same. With a checkpoint
// directory, a run that dies at any moment resumes from its last checkpoint with no example lost or repeated, on any
// number of devices. One thread.
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
#include "argosy/strategy/sharding/batch_placement.h"
#include "argosy/train/model/model.h"
#include "argosy/train/model/optimizers.h"
#include "argosy/train/report/verdict.h"

namespace argosy {

// What a caller hears while it trains.
struct TrainProgress {
  std::int64_t step = 0;                                        // done
  std::int64_t total_steps = 0;                                 // 0: not known
  double epoch = 0;                                             // 1.5: half through the second
  double loss = 0;                                              // of the last step
  double samples_per_second = 0;                                // of the last steps
  std::vector<std::pair<std::string, double>> evaluation = {};  // when one has just been made
};

// What to train with, where, and what to write.
struct TrainerOptions {
  Optimizer optimizer = adam(1e-3);  // its rule and rate
  MinimizeOptions minimize = {};     // clipping
  DeviceRequest devices = {};        // that train
  bool reproducible = false;         // the same bits on 1, 2, 4 and 8 devices of one kind: 8 logical shards
  bool sync_batch_norm = false;      // see DataParallelOptions
  std::optional<PlacementKind> loss_placement = {};  // unset: found from the graph

  std::int64_t batch = 128;         // of all devices together
  std::int64_t steps = 0;           // total, counted from the first run's start; 0: by epochs
  std::int64_t epochs = 1;          // without steps
  std::uint64_t seed = 0;           // of initial values, order of examples, dropout
  DType dtype = DType::kFloat32;    // of variables
  DType compute = DType::kInvalid;  // kBfloat16: mixed precision
  int input_threads = 1;            // that read batches

  std::string checkpoint_dir = "";    // "": none are written
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end only
  int checkpoints_to_keep = 3;        // older ones are removed
  bool resume = false;  // from the newest checkpoint in checkpoint_dir; FAILED_PRECONDITION when it does not fit

  // TensorBoard event files; "": none.
  std::string log_dir = "";     // TensorBoard event files
  std::int64_t log_every = 10;  // steps

  // Steps between looks at whether all devices still hold the same variables and no GPU's memory has failed; before a
  // checkpoint and at the end in any case. 0: never. -1: 100, or more where that took more than 1 % of the time.
  std::int64_t check_replicas_every = -1;
  // The first steps of the run also run on one device from the same state; INTERNAL "ARG-CHECK-001" names the loss or
  // the variable that comes out another (argosy/strategy/data_parallel/step_equivalence.h). Of several devices only.
  std::int64_t check_steps = 0;
  bool verdict = true;      // measure one device and all in turn at the end, where there are several
  bool stop_on_nan = true;  // a loss that is no number ends the run with ABORTED
  int patience = 0;         // epochs without a higher value of the first metric before it stops; 0: never
  // Chrome trace of the training steps; "": $ARGOSY_TRACE, else none.
  std::string trace_path = "";        // Chrome trace of the training steps; "": $ARGOSY_TRACE, else none
  bool log_device_placement = false;  // prints where each node runs

  // After every step; false ends the run after a last checkpoint.
  std::function<bool(const TrainProgress&)> progress = {};
};

// What train() did.
struct TrainReport {
  std::vector<DeviceSpec> devices;                                               // that trained
  std::int64_t first_step = 0;                                                   // where this run began
  std::int64_t steps = 0;                                                        // where it ended
  std::int64_t total_steps = 0;                                                  // where it was to end
  std::vector<double> losses;                                                    // of the steps that this run did
  double samples_per_second = 0;                                                 // of the training steps alone
  double seconds = 0;                                                            // of training, in all
  std::vector<std::pair<std::string, double>> evaluation;                        // the last, by metric
  std::vector<std::pair<std::string, std::uint64_t>> peak_bytes, planned_bytes;  // by device
  ScalingVerdict verdict;                                                        // one device and all
  std::int64_t checked_steps = 0;                                                // were as on one device
  std::string not_checked;   // why others of check_steps were not compared; "" where all were, or none asked for
  std::string strategy;      // how the graph was replicated, in a line
  std::string placement;     // a summary, where options.log_device_placement
  std::string checkpoint;    // prefix of the last; empty without
  std::string replaces;      // prefix of the newest of an earlier run in the folder, where this one began anew
  bool interrupted = false;  // by progress()
};

class Trainer {
 public:
  // Builds the graph, replicates it and checks that it fits. INVALID_ARGUMENT, RESOURCE_EXHAUSTED where it does not.
  static Result<std::unique_ptr<Trainer>> make(ModelBuilder model, TrainerOptions options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains; evaluates on `test`, if given, after every epoch and at the end. FAILED_PRECONDITION (ARG-CKPT-011): the
  // checkpoint folder is another model's.
  Result<TrainReport> fit(const data::Dataset& train, const data::Dataset* test = nullptr);
  // Every example once.
  Result<std::vector<std::pair<std::string, double>>> evaluate(const data::Dataset& test);
  // The model's sample images of the first `examples`, as [n, height, width, channels] of floats, by name.
  Result<std::vector<std::pair<std::string, Tensor>>> sample_images(const data::Dataset& data, int examples);

  const std::vector<DeviceSpec>& devices() const;  // that train
  // Of the last fit(), as far as it came: also where fit() is an error (a checkpoint that could not be written, a loss
  // that is no number), and then with what was measured before that.
  const TrainReport& report() const;

 private:
  class Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy
