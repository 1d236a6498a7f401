// Trains an ensemble: K models with the same names, each in its own scope, on K devices.
//
// Side by side, the time is that of the slowest model. One after another, it is the sum over the models. The results
// are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/data/dataset.h"
#include "argosy/device/device.h"
#include "argosy/train/model/model.h"
#include "argosy/train/model/optimizers.h"
#include "argosy/train/report/interleaved_rates.h"

namespace argosy {

// Options of train_ensemble().
struct EnsembleOptions {
  std::vector<ModelBuilder> models;   // model k: scope "model_k", device k modulo the number of devices
  Optimizer optimizer = adam(1e-3);   // each model gets its own slots
  MinimizeOptions minimize = {};      // clipping
  DeviceRequest devices = {};         // that the models are spread over
  bool reproducible = false;          // same bits, whatever the number of threads per device
  bool log_device_placement = false;  // fills in EnsembleReport::placement
  std::int64_t batch = 128;           // examples a step, of each model
  std::int64_t steps = 100;           // of each model
  std::uint64_t seed = 0;             // of the data's order and of initial weights
  DType dtype = DType::kFloat32;      // of variables
  DType compute = DType::kInvalid;    // kBfloat16: mixed precision
  int input_threads = 1;              // that read examples
  std::function<bool(std::int64_t steps_done, std::int64_t total)> progress = {};  // false ends the run
};

// The result of train_ensemble().
struct EnsembleReport {
  // One model.
  struct Member {
    std::string scope, device;           // the scope of its nodes; where it trained
    std::vector<std::string> variables;  // names inside the scope
    std::vector<double> losses;          // of every step
    std::optional<double> accuracy;      // the first metric on the test data, if there are some
  };
  std::vector<Member> members;                                                   // in the order of the options
  std::vector<DeviceSpec> devices;                                               // that were used
  std::vector<std::pair<std::string, std::uint64_t>> peak_bytes, planned_bytes;  // by device, side by side
  std::string placement;                                                         // for people
  double samples_per_second = 0;  // side by side: all members together, after the first step, if there are more
  double side_by_side_seconds = 0, one_after_another_seconds = 0;  // of training, without compiling
  Comparison speed;        // samples/s by rounds of steps: one after another (`one`), side by side (`many`)
  bool identical = false;  // losses and variables, bit for bit, in both modes

  // NaN if speed.not_measured is not empty.
  double speedup() const;
};

// Trains all members in both modes, on the same batches from the same initial values, and compares. All models have the
// same inputs.
Result<EnsembleReport> train_ensemble(const EnsembleOptions& options, const data::Dataset& train,
                                      const data::Dataset* test = nullptr);

}  // namespace argosy
