#include "argosy/train/one_device_check.h"

#include <algorithm>

#include "argosy/strategy/batch_statistics.h"
#include "argosy/strategy/same_step.h"
#include "argosy/train/memory_check.h"

namespace argosy {

namespace {

constexpr std::size_t kDifferencesTold = 3;

// Of other memory than the variables': these are written to next.
std::vector<tf::NamedTensor> copies(std::vector<tf::NamedTensor> values) {
  for (tf::NamedTensor& v : values) v.tensor = v.tensor.clone();
  return values;
}

}  // namespace

Status OneDeviceCheck::look(std::int64_t batch) {
  const Graph& graph = *program_.built().graph;
  for (const ReplicationNote& note : program_.parallel().notes()) {
    if (sync_batch_norm_ && note.kind == ReplicationNote::Kind::kStatistics) continue;
    not_checked_ = note.text;
    return ok_status();
  }
  if (const auto norm = sync_batch_norm_ ? std::nullopt : normalises_by_batch(graph)) {
    not_checked_ = str_cat("'", graph.node(*norm).name, "' (", graph.node(*norm).op->name,
                           ") takes statistics of each device's share of the batch (try: --sync-batch-norm)");
    return ok_status();
  }
  auto made = make_();
  Status status = made.ok() ? check_memory(**made, batch) : made.status();
  if (status.code() == Code::kResourceExhausted) {
    not_checked_ = str_cat("one device cannot take the whole batch: ", status.message());
    return ok_status();
  }
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  alone_ = *std::move(made);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    for (const DType dtype : graph.node(NodeId{i}).output_dtypes) computed_in_ = coarser(computed_in_, dtype);
  }
  return ok_status();
}

Status OneDeviceCheck::before_step(const std::vector<Tensor>& feeds, std::int64_t batch) {
  if (alone_ == nullptr && not_checked_.empty()) ARGOSY_RETURN_IF_ERROR(look(batch));
  if (!not_checked_.empty()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(auto values, program_.variables());
  before_ = copies(std::move(values));
  nudged_before_ = before_;
  for (tf::NamedTensor& v : nudged_before_) v.tensor = nudged(v.tensor, computed_in_);
  const auto run = [&](const std::vector<tf::NamedTensor>& from, double& loss) -> Result<std::vector<tf::NamedTensor>> {
    ARGOSY_RETURN_IF_ERROR(alone_->initialize(from));
    ARGOSY_ASSIGN_OR_RETURN(loss, alone_->step(feeds));
    ARGOSY_ASSIGN_OR_RETURN(auto after, alone_->variables());
    return copies(std::move(after));
  };
  ARGOSY_ASSIGN_OR_RETURN(nudged_, run(nudged_before_, nudged_loss_));
  ARGOSY_ASSIGN_OR_RETURN(one_, run(before_, loss_));
  return ok_status();
}

Status OneDeviceCheck::after_step(std::int64_t step, double loss) {
  ARGOSY_ASSIGN_OR_RETURN(const auto after, program_.variables());
  std::vector<std::string> differences;
  const auto compare = [&](const StepValue& v, const std::string& where) {
    const std::string text = other_than_on_one_device(v, computed_in_);
    if (!text.empty()) differences.push_back(str_cat(v.name, where, " ", text));
  };
  compare({.name = "the loss",
           .one = Tensor::scalar(loss_),
           .nudged = Tensor::scalar(nudged_loss_),
           .replicated = Tensor::scalar(loss)},
          "");
  const auto variable = [&](std::size_t i, const Tensor& got) {
    return StepValue{.name = str_cat("'", one_[i].name, "'"),
                     .one = one_[i].tensor,
                     .nudged = nudged_[i].tensor,
                     .replicated = got,
                     .before = before_[i].tensor,
                     .nudged_before = nudged_before_[i].tensor};
  };
  for (std::size_t i = 0; i < one_.size(); ++i) compare(variable(i, after[i].tensor), "");
  for (std::size_t d = 1; d < devices_ && !program_.mirrored().empty(); ++d) {
    ARGOSY_ASSIGN_OR_RETURN(const auto mirrors, program_.mirror(static_cast<int>(d)));
    for (std::size_t m = 0; m < mirrors.size(); ++m) {
      const auto at = std::ranges::find(one_, program_.mirrored()[m], &tf::NamedTensor::name) - one_.begin();
      compare(variable(static_cast<std::size_t>(at), mirrors[m]), str_cat(" on device ", d));
    }
  }
  if (differences.empty()) return ok_status();
  const std::size_t all = differences.size();
  if (all > kDifferencesTold) differences.resize(kDifferencesTold);
  return internal_error("step ", step, " is not the step of one device: ", str_join(differences, "; "),
                        all > kDifferencesTold ? str_cat("; and ", all - kDifferencesTold, " more") : std::string())
      .with_id("ARG-CHECK-001")
      .with_where(str_cat("step ", step))
      .with_next(
          "--precision fp64, which tells a defect from a rounding that flips a ReLU; --devices 1 trains without it");
}

}  // namespace argosy
