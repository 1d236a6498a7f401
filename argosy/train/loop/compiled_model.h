// A model built, replicated over devices and ready to run: for training, for evaluation, for a probe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/data/dataset.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/passes/prune/prune.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/train/model/model.h"
#include "argosy/train/model/optimizers.h"

namespace argosy {

// A model in a graph of its own, for one device.
struct BuiltModel {
  std::unique_ptr<Graph> graph;
  std::vector<Layers::Input> inputs;
  Model model;
  TrainStep train;                      // run is not valid() without an optimizer
  std::vector<VariableNode> variables;  // all: the model's, the optimizer's, the global step
  Value initializer;
};

// `optimizer`: null for evaluation.
Result<BuiltModel> build_model(const ModelBuilder& builder, LayersOptions options, const Optimizer* optimizer,
                               MinimizeOptions minimize = {});

struct CompiledModelOptions {
  std::vector<DeviceSpec> devices;  // of the session, to compute on
  SessionOptions session = {};
  std::optional<PlacementKind> loss_placement = {};
  bool sync_batch_norm = false;  // see DataParallelOptions
  int shards = 0;                // likewise
};

// One thread at a time.
class CompiledModel {
 public:
  static Result<std::unique_ptr<CompiledModel>> make(BuiltModel built, const CompiledModelOptions& options);

  // Gives every variable its first value, or the one given by name. NOT_FOUND when only some are given.
  Status initialize(std::span<const tf::NamedTensor> values = {});
  // The values of all variables, under their names in the original graph. They may share the variables' memory, which
  // is not written to while they do.
  Result<std::vector<tf::NamedTensor>> variables();
  // The variables that every device has a mirror of, and their values on one of them. Empty for one device.
  const std::vector<std::string>& mirrored() const { return mirrored_names_; }
  Result<std::vector<Tensor>> mirror(int device);

  // Feeds are one tensor per input, in the model's order.
  Result<double> step(std::span<const Tensor> feeds, StepStats* stats = nullptr);
  // What the examples add to each metric: totals, then weights.
  Result<std::vector<MetricState>> evaluate(std::span<const Tensor> feeds);
  // The model's sample images of these examples, in order.
  Result<std::vector<Tensor>> sample_images(std::span<const Tensor> feeds);

  // What a step of so many examples takes on each device; or drawing the first values, where that takes more.
  Result<std::vector<MemoryForecast>> forecast(std::int64_t batch);
  Result<PlacementReport> placement(std::int64_t batch);

  // A training (or loss) step in the terms of compilation, for those who look at its graph.
  StepSignature signature(std::int64_t batch);
  const Graph& replicated_graph() { return parallel_.graph(); }

  const BuiltModel& built() const { return built_; }
  const DataParallel& parallel() const { return parallel_; }
  Session& session() { return *session_; }

 private:
  CompiledModel(BuiltModel built, DataParallel parallel) : built_(std::move(built)), parallel_(std::move(parallel)) {}
  Status prepare(std::size_t devices);
  Result<std::unique_ptr<Session::Callable>> callable(const std::vector<Value>& fetches,
                                                      const std::vector<Value>& targets, bool fed = true);
  std::vector<std::pair<Value, Shape>> feed_shapes(std::int64_t batch);

  BuiltModel built_;
  DataParallel parallel_;
  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<Session> session_;
  Value loss_;
  std::vector<Value> metrics_, sample_images_;
  std::unique_ptr<Session::Callable> step_, evaluate_, show_, read_;
  std::vector<std::vector<Value>> mirrored_;  // by device
  std::vector<std::string> mirrored_names_;
  std::vector<std::unique_ptr<Session::Callable>> mirrors_;
  std::optional<std::vector<MemoryForecast>> first_values_;
};

// By device, the forecast of two that takes more.
std::vector<MemoryForecast> larger_by_device(std::vector<MemoryForecast> one, std::span<const MemoryForecast> other);

// Which component of the dataset feeds each input, by name. INVALID_ARGUMENT names what does not fit.
Result<std::vector<std::size_t>> match_inputs(const std::vector<Layers::Input>& inputs, const data::Dataset& dataset);

// A floating scalar of any dtype.
Result<double> scalar_value(const Tensor& t);

}  // namespace argosy
