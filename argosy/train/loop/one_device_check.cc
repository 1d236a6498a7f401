#include "argosy/train/loop/one_device_check.h"

#include <algorithm>

#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/train/report/memory_check.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

namespace {

constexpr std::size_t kDifferencesTold = 3;

// Returns copies in memory of their own: the variables are written to next.
std::vector<tf::NamedTensor> copies(std::vector<tf::NamedTensor> values) {
  for (tf::NamedTensor& v : values) v.tensor = v.tensor.clone();
  return values;
}

}  // namespace

Status OneDeviceCheck::look(std::int64_t batch) {
  for (const ReplicationNote& note : program_.parallel().notes()) {
    if (note.kind == ReplicationNote::Kind::kMemory) continue;
    not_checked_ = note.text;
    return ok_status();
  }
  if (compares()) ARGOSY_RETURN_IF_ERROR(make_single_device(batch));
  if (RunTasks* const tasks = program_.tasks().get(); tasks != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const auto told,
                            tasks->from_first({Tensor::scalar(std::int64_t{single_device_ != nullptr})}));
    if (!tasks->is_first() && *told[0].data<std::int64_t>() == 0) not_checked_ = "task 0 cannot run the whole step";
  }
  return ok_status();
}

bool OneDeviceCheck::compares() const { return program_.tasks() == nullptr || program_.tasks()->is_first(); }

Status OneDeviceCheck::make_single_device(std::int64_t batch) {
  auto made = make_();
  Status status = made.ok() ? check_memory(**made, batch) : made.status();
  if (status.code() == Code::kResourceExhausted) {
    not_checked_ = str_cat("one device cannot take the global batch: ", status.message());
    return ok_status();
  }
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  single_device_ = *std::move(made);
  const Graph& graph = *program_.built().graph;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    for (const DType dtype : graph.node(NodeId{i}).output_dtypes) computed_in_ = coarser(computed_in_, dtype);
  }
  return ok_status();
}

Result<OneDeviceCheck::SingleDeviceRun> OneDeviceCheck::run_from(std::vector<tf::NamedTensor> before,
                                                                 const std::vector<Tensor>& feeds) {
  SingleDeviceRun run{.before = std::move(before), .after = {}};
  ARGOSY_RETURN_IF_ERROR(single_device_->initialize(run.before));
  ARGOSY_ASSIGN_OR_RETURN(run.loss, single_device_->step(feeds));
  ARGOSY_ASSIGN_OR_RETURN(auto after, single_device_->variables());
  run.after = copies(std::move(after));
  return run;
}

Result<OneDeviceCheck::SingleDeviceRun> OneDeviceCheck::run_perturbed(const std::vector<Tensor>& feeds, int k) {
  std::vector<tf::NamedTensor> before = one_.before;
  for (tf::NamedTensor& v : before) v.tensor = perturbed(v.tensor, computed_in_, k);
  return run_from(std::move(before), feeds);
}

Status OneDeviceCheck::before_step(const std::vector<Tensor>& feeds, std::int64_t batch) {
  if (!std::exchange(looked_, true)) ARGOSY_RETURN_IF_ERROR(look(batch));
  if (!not_checked_.empty()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(auto values, program_.variables());
  if (!compares()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(one_, run_from(copies(std::move(values)), feeds));
  ARGOSY_ASSIGN_OR_RETURN(perturbed_, run_perturbed(feeds, 0));
  return ok_status();
}

// Returns the loss, then the variables, then the mirrors that this task has.
Result<std::vector<StepValue>> OneDeviceCheck::values(double loss) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto after, program_.variables());
  std::vector<StepValue> values = {
      {.name = "the loss", .one_device = Tensor::scalar(one_.loss), .replicated = Tensor::scalar(loss)}};
  const auto add = [&](std::size_t i, const Tensor& got, const std::string& where) {
    values.push_back({.name = str_cat("'", one_.after[i].name, "'", where),
                      .one_device = one_.after[i].tensor,
                      .replicated = got,
                      .before = one_.before[i].tensor});
  };
  for (std::size_t i = 0; i < one_.after.size(); ++i) add(i, after[i].tensor, "");
  // Mirrors of other tasks are compared by their hashes (sdc_check.h).
  const RunTasks* const tasks = program_.tasks().get();
  for (std::size_t d = 1; d < devices_ && !program_.mirrored().empty(); ++d) {
    if (tasks != nullptr && !tasks->is_own(d)) continue;
    ARGOSY_ASSIGN_OR_RETURN(const auto mirrors, program_.mirror(static_cast<int>(d)));
    for (std::size_t m = 0; m < mirrors.size(); ++m) add(mirrored_at(m), mirrors[m], str_cat(" on device ", d));
  }
  return values;
}

std::size_t OneDeviceCheck::mirrored_at(std::size_t mirror) const {
  const auto found = std::ranges::find(one_.after, program_.mirrored()[mirror], &tf::NamedTensor::name);
  return static_cast<std::size_t>(found - one_.after.begin());
}

void OneDeviceCheck::add_noise(std::vector<StepValue>& values, const SingleDeviceRun& run) const {
  argosy::add_noise(values[0], Tensor::scalar(run.loss));
  const std::size_t variables = run.after.size();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const std::size_t at = i <= variables ? i - 1 : mirrored_at((i - 1 - variables) % program_.mirrored().size());
    argosy::add_noise(values[i], run.after[at].tensor, run.before[at].tensor);
  }
}

Status OneDeviceCheck::after_step(std::int64_t step, const std::vector<Tensor>& feeds, double loss) {
  if (!compares()) return program_.variables().status();
  ARGOSY_ASSIGN_OR_RETURN(std::vector<StepValue> values, this->values(loss));
  StepDifference& largest = largest_difference_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double relative = relative_difference(values[i]);
    if (i > 0) largest.variables = std::max(largest.variables, relative);
    if (relative <= largest.relative) continue;
    largest.relative = relative;
    largest.value = values[i].name;
  }
  std::vector<std::string> differences;
  const auto compare = [&](const SingleDeviceRun& perturbed) {
    add_noise(values, perturbed);
    differences.clear();
    for (const StepValue& v : values) {
      const std::string text = other_than_on_one_device(v, computed_in_);
      if (!text.empty()) differences.push_back(str_cat(v.name, " ", text));
    }
  };
  compare(perturbed_);
  for (int k = 1; k < kNoiseRuns && !differences.empty(); ++k) {
    ARGOSY_ASSIGN_OR_RETURN(const SingleDeviceRun run, run_perturbed(feeds, k));
    compare(run);
  }
  if (differences.empty()) return ok_status();
  const std::size_t all = differences.size();
  if (all > kDifferencesTold) differences.resize(kDifferencesTold);
  return internal_error("step ", step, " is not the step of one device: ", str_join(differences, "; "),
                        all > kDifferencesTold ? str_cat("; and ", all - kDifferencesTold, " more") : std::string())
      .with_id("ARG-CHECK-001")
      .with_where(str_cat("step ", step))
      .with_hint(
          "--precision fp64, which tells a defect from a rounding that flips a ReLU; --devices 1 trains without it");
}

}  // namespace argosy
