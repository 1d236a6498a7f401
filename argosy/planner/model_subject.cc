#include "argosy/planner/model_subject.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/planner/compiled_step.h"
#include "argosy/train/loop/evaluation.h"
#include "argosy/train/report/memory_check.h"

namespace argosy {

namespace {

Result<std::unique_ptr<data::Loader>> open_loader(const data::Dataset& data, const TrainerOptions& options,
                                                  std::int64_t batch) {
  return data::Loader::open(
      data,
      {.batch = std::min(batch, data.size()), .shuffle = false, .drop_last = true, .threads = options.input_threads});
}

class CompiledModelCandidate final : public CompiledCandidate {
 public:
  CompiledModelCandidate(std::unique_ptr<CompiledModel> program, std::shared_ptr<DeviceSet> device_set,
                         const TrainerOptions& options, std::int64_t batch)
      : program_(std::move(program)), device_set_(std::move(device_set)), options_(options), batch_(batch) {}

  const DataParallel* parallel() const override { return &program_->parallel(); }
  Result<std::shared_ptr<const Step>> look() override {
    return compile_to_look(program_->replicated_graph(), program_->signature(batch_), device_set_,
                           {.reproducible = options_.reproducible});
  }
  Result<std::vector<MemoryForecast>> forecast() override { return program_->forecast(batch_); }
  Status check_memory() override { return argosy::check_memory(*program_, batch_); }
  Result<PlannedNode> planned(std::string_view node) override { return program_->parallel().planned(node); }

 private:
  const std::unique_ptr<CompiledModel> program_;
  const std::shared_ptr<DeviceSet> device_set_;
  const TrainerOptions& options_;
  const std::int64_t batch_;
};

class ModelTrialSteps final : public TrialSteps {
 public:
  static Result<std::unique_ptr<ModelTrialSteps>> open(const ModelBuilder& model, const TrainerOptions& options,
                                                       const data::Dataset& data, const DeviceSpec& spec) {
    auto made = std::unique_ptr<ModelTrialSteps>(new ModelTrialSteps(options, data));
    TrainerOptions alone = options;
    alone.strategy = {};
    ARGOSY_ASSIGN_OR_RETURN(made->device_set_, DeviceSet::make(options.devices));
    ARGOSY_ASSIGN_OR_RETURN(made->program_, CompiledModels(model, alone).make_measured({spec}, made->device_set_));
    ARGOSY_ASSIGN_OR_RETURN(made->components_, match_inputs(made->program_->built().inputs, data));
    return made;
  }

  Status check(std::int64_t batch) override { return check_memory(*program_, batch); }

  Status prepare(std::int64_t batch) override {
    if (!initialized_) ARGOSY_RETURN_IF_ERROR(program_->initialize());
    initialized_ = true;
    loader_.reset();
    ARGOSY_ASSIGN_OR_RETURN(loader_, open_loader(data_, options_, batch));
    for (int i = 0; i < 2; ++i) {  // compiles, records
      ARGOSY_RETURN_IF_ERROR(next_batch());
      ARGOSY_RETURN_IF_ERROR(program_->step(feeds_).status());
    }
    return ok_status();
  }

  // Of a fresh batch, as in training: meanwhile the loader makes the next one.
  Result<double> step_seconds(StepStats* stats) override {
    ARGOSY_RETURN_IF_ERROR(next_batch());
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(program_->step(feeds_, stats).status());
    return seconds_since(start);
  }

  Result<std::shared_ptr<const Step>> look(std::int64_t batch) override {
    return compile_to_look(program_->replicated_graph(), program_->signature(batch), device_set_,
                           {.reproducible = options_.reproducible});
  }

 private:
  ModelTrialSteps(const TrainerOptions& options, const data::Dataset& data) : options_(options), data_(data) {}

  Status next_batch() {
    ARGOSY_ASSIGN_OR_RETURN(const data::Batch examples, loader_->next());
    feeds_ = feeds_of(examples, components_);
    return ok_status();
  }

  const TrainerOptions& options_;
  const data::Dataset& data_;
  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<CompiledModel> program_;
  std::vector<std::size_t> components_;
  std::unique_ptr<data::Loader> loader_;
  std::vector<Tensor> feeds_;
  bool initialized_ = false;
};

}  // namespace

ModelSubject::ModelSubject(const ModelBuilder& model, const TrainerOptions& options, const data::Dataset& data)
    : model_(model),
      options_(options),
      data_(data),
      batch_(std::min(options.batch, std::max<std::int64_t>(data.size(), 1))) {}

Result<std::unique_ptr<CompiledCandidate>> ModelSubject::compile(const Candidate& candidate,
                                                                 const std::shared_ptr<DeviceSet>& device_set) {
  TrainerOptions options = options_;
  options.strategy = candidate.strategy;
  ARGOSY_ASSIGN_OR_RETURN(auto program, CompiledModels(model_, options).make_measured(candidate.devices, device_set));
  return std::unique_ptr<CompiledCandidate>(
      new CompiledModelCandidate(std::move(program), device_set, options_, batch_));
}

Result<std::unique_ptr<TrialSteps>> ModelSubject::on_one_device(const DeviceSpec& spec) {
  ARGOSY_ASSIGN_OR_RETURN(auto steps, ModelTrialSteps::open(model_, options_, data_, spec));
  return std::unique_ptr<TrialSteps>(std::move(steps));
}

Result<double> ModelSubject::input_seconds(double budget) {
  constexpr int kMostRounds = 25;
  ARGOSY_ASSIGN_OR_RETURN(const auto loader, open_loader(data_, options_, batch_));
  const int ahead = loader->options().prefetch + 1;
  for (int i = 0; i < ahead; ++i) ARGOSY_RETURN_IF_ERROR(loader->next().status());  // made before they were asked for
  const std::int64_t began = now_nanos();
  int made = 0;
  while (made < 2 || (made < kMostRounds && seconds_since(began) < budget)) {
    ARGOSY_RETURN_IF_ERROR(loader->next().status());
    ++made;
  }
  return seconds_since(began) / made;
}

}  // namespace argosy
