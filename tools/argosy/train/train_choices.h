// The flags of `argosy train`, and the job that they describe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/data/dataset.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/train/loop/ensemble.h"
#include "argosy/train/loop/trainer.h"
#include "tools/argosy/cli/command.h"

namespace argosy::cli {

// --strategy, as an option's value.
struct StrategyChoice : StrategySpec {};
// The error says what to type.
Status parse_value(std::string_view text, const Limits& limits, StrategyChoice& to);
std::string show_value(const StrategyChoice& value);

// 0 and "" mean that a flag was not given, and cannot be typed where they would mean something else. Such flags have
// the model's own default, where it has one.
struct TrainChoices {
  std::string model;
  DeviceRequest request;
  std::string data = "synthetic";
  std::int64_t batch = 0, steps = 0, epochs = 0;
  std::optional<double> lr;  // 0 is a rate like others
  std::string optimizer, schedule, combine;
  double clip_norm = 0;
  std::optional<double> dropout;
  int input_threads = 1;
  std::int64_t seed = 1;
  std::string precision = "fp32";
  std::string log_dir, checkpoint_dir, trace, picture;
  std::int64_t checkpoint_every = 0;
  std::int64_t check_replicas = -1, check = 0;
  std::int64_t stuck_after = -1;  // seconds; negative: not said
  StrategyChoice strategy;
  bool check_strategy = false, resume = false, reproducible = false, sync_batch_norm = false,
       log_device_placement = false, no_verdict = false;
  int image_size = 0, depth = 0, width = 0, layers = 0, shards = 0;
  std::optional<int> members;
};

// Adds the flags that determine the graph of a step and its feeds: for every command that takes a model.
void add_model_flags(Command& command, TrainChoices& choices);
// Adds the flags that choose the devices, and how they share the work.
void add_strategy_flags(Command& command, TrainChoices& choices);
// Adds all flags of `argosy train`, including those above.
void add_train_flags(Command& command, TrainChoices& choices);
// The models whose step can be planned: all but ensembles.
std::vector<std::string> planned_models();

struct TrainJob {
  ModelBuilder model;
  TrainerOptions options;
  std::unique_ptr<data::Dataset> train, test;  // test may be null
  std::string note;                            // how model and data were fitted to each other; empty: as they are
};
Result<TrainJob> make_job(const TrainChoices& choices);

struct EnsembleJob {
  EnsembleOptions options;
  std::unique_ptr<data::Dataset> train, test;
  std::string note;
};
Result<EnsembleJob> make_ensemble_job(const TrainChoices& choices);

// The model's pictures of a few examples, a row each kind, as one PNG. Returns the path; "" when the model shows none.
Result<std::string> write_sample_images(Trainer& trainer, const data::Dataset& data, const std::string& path);

}  // namespace argosy::cli
