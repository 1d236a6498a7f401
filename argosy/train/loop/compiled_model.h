// CompiledModel: a model that is built, replicated over devices and in a session: for training, evaluation or
// measurements.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/data/dataset.h"
#include "argosy/formats/checkpoint/checkpoint.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/strategy/tasks/task_part.h"
#include "argosy/train/model/model.h"
#include "argosy/train/model/optimizers.h"

namespace argosy {

class RunTasks;  // argosy/train/tasks/run_tasks.h

// A model in its own graph, for one device.
struct BuiltModel {
  std::unique_ptr<Graph> graph;
  std::vector<Layers::Input> inputs;
  Model model;
  TrainStep train;                      // train.run is not valid() without an optimizer
  std::vector<VariableNode> variables;  // of the model and the optimizer, the global step included
  Value initializer;
};

// Calls the builder on a new graph and adds the optimizer's step. `optimizer`: null for evaluation.
Result<BuiltModel> build_model(const ModelBuilder& builder, LayersOptions options, const Optimizer* optimizer,
                               MinimizeOptions minimize = {});

struct CompiledModelOptions {
  std::vector<DeviceSpec> devices;  // the devices that compute; with `tasks`, those of all tasks
  SessionOptions session = {};
  std::optional<PlacementKind> loss_placement = {};
  bool sync_batch_norm = false;  // see DataParallelOptions
  int shards = 0;                // see DataParallelOptions
  int accumulate = 1;            // see DataParallelOptions
  int zero = 0;                  // see DataParallelOptions
  // The tasks that run the model together; each runs its part. All of them must make every call of CompiledModel. Null:
  // this process alone.
  std::shared_ptr<RunTasks> tasks = nullptr;
};

// One thread at a time.
class CompiledModel {
 public:
  static Result<std::unique_ptr<CompiledModel>> make(BuiltModel built, const CompiledModelOptions& options);

  // Gives every variable its initial value, or the value given by name. NOT_FOUND ARG-CKPT-013: only some are given.
  Status initialize(std::span<const tf::NamedTensor> values = {});
  // Returns the values of all variables, with their names in the original graph. They may share memory with the
  // variables, which nothing overwrites while they do. With several tasks only the first gets them; the others get an
  // empty list.
  Result<std::vector<tf::NamedTensor>> variables();
  // The variables with a mirror on every device, and their values on one device. Empty for one device.
  const std::vector<std::string>& mirrored() const { return mirrored_names_; }
  // REQUIRES: the device is this task's.
  Result<std::vector<Tensor>> mirror(int device);
  const std::shared_ptr<RunTasks>& tasks() const { return tasks_; }  // null: this process alone
  // The rows of a batch that this task reads, for LoaderOptions::rows; empty: all of them.
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t examples)> rows_to_read() const;

  // Runs one training step and returns the loss. `feeds`: one tensor per input, in the model's order.
  Result<double> step(std::span<const Tensor> feeds, StepStats* stats = nullptr);
  // The totals and weights that these examples add to each metric.
  Result<std::vector<MetricState>> evaluate(std::span<const Tensor> feeds);
  // The model's sample images for these examples, in the model's order.
  Result<std::vector<Tensor>> sample_images(std::span<const Tensor> feeds);

  // The memory that a step of `batch` examples needs on each device.
  Result<std::vector<MemoryForecast>> step_forecast(std::int64_t batch);
  // The memory of the run that gives variables their initial values; empty without an optimizer.
  Result<std::vector<MemoryForecast>> first_values_forecast();
  // By device: the larger of both.
  Result<std::vector<MemoryForecast>> forecast(std::int64_t batch);
  Result<PlacementReport> placement(std::int64_t batch);

  // The signature of a training step (without an optimizer: of the loss), to look at its graph.
  StepSignature signature(std::int64_t batch);
  const Graph& replicated_graph() { return parallel_.graph(); }

  const BuiltModel& built() const { return built_; }
  const DataParallel& parallel() const { return parallel_; }
  Session& session() { return *session_; }

 private:
  CompiledModel(BuiltModel built, DataParallel parallel) : built_(std::move(built)), parallel_(std::move(parallel)) {}
  Status prepare(std::size_t devices);
  // Gives every variable the value of its name.
  Status restore(std::span<const tf::NamedTensor> values);
  // Changes the graph into this task's part of it, and checks that all tasks have the same graph. `what`: for messages.
  Status take_part(const std::string& what);
  struct Parts {
    std::vector<Value> feeds, fetches, targets;
  };
  // Returns the part of a run of all tasks that this process runs.
  Parts part_of(std::vector<Value> feeds, std::vector<Value> fetches, std::vector<Value> targets);
  std::vector<Value> fed_inputs();
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
  std::shared_ptr<RunTasks> tasks_;  // null: this process alone
  std::optional<TaskPart> part_;     // with tasks
};

// Returns, for each device, the larger of two forecasts.
std::vector<MemoryForecast> larger_by_device(std::vector<MemoryForecast> one, std::span<const MemoryForecast> other);
// Returns, for each device, the forecast for two steps that stay compiled and run alternately. They share variables and
// arenas; each has constants of its own.
std::vector<MemoryForecast> of_both_steps(std::vector<MemoryForecast> one, std::span<const MemoryForecast> other);

// Returns, for each input, the index of the dataset's component of that name. INVALID_ARGUMENT ARG-DATA-020: there is
// no such component. ARG-DATA-021: it has another dtype or shape.
Result<std::vector<std::size_t>> match_inputs(const std::vector<Layers::Input>& inputs, const data::Dataset& dataset);

// Returns the value of a tensor with one element, of any real dtype.
Result<double> scalar_value(const Tensor& t);

}  // namespace argosy
