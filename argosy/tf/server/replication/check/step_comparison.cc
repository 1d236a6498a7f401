#include "argosy/tf/server/replication/check/step_comparison.h"

namespace argosy::tf {

namespace {

using Values = SessionState::Values;

Tensor find(const Values& all, const std::string& name) {
  const auto found = all.find(name);
  return found != all.end() ? found->second : Tensor();
}

}  // namespace

Result<std::optional<SingleDeviceRun>> run_perturbed(const SessionState& state, const SingleDeviceRun& reference,
                                                     DType computed_in, int seed, const StepCheck::Run& alone) {
  SingleDeviceRun run{.outputs = std::vector<Tensor>(reference.outputs.size()), .before = {}, .written = {}};
  ARGOSY_RETURN_IF_ERROR(state.put_back());
  ARGOSY_RETURN_IF_ERROR(state.perturb(reference.written, computed_in, seed));
  ARGOSY_ASSIGN_OR_RETURN(run.before, state.now(reference.written));
  const bool ran = alone(run.outputs, nullptr).ok();
  if (ran) {
    ARGOSY_ASSIGN_OR_RETURN(run.written, state.now(reference.written));
  }
  ARGOSY_RETURN_IF_ERROR(state.put_back());
  if (!ran) return std::optional<SingleDeviceRun>();
  return std::optional(std::move(run));
}

StepComparison::StepComparison(const std::vector<std::string>& names, const std::vector<bool>& summaries,
                               std::size_t fetches, const SingleDeviceRun& one, std::span<const Tensor> outputs) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Skips losses whose value of the global batch is not known.
    if (summaries[i] || (i >= fetches && !outputs[i].valid())) continue;
    entries_.push_back({.value = {.name = names[i], .one_device = one.outputs[i], .replicated = outputs[i]},
                        .output = static_cast<int>(i),
                        .where = {}});
  }
}

Status StepComparison::add_written(const SessionState& state, const SingleDeviceRun& one) {
  ARGOSY_ASSIGN_OR_RETURN(Values after, state.changed());
  for (const auto& [name, value] : one.written) after.try_emplace(name, Tensor());
  ARGOSY_ASSIGN_OR_RETURN(const Values now, state.now(after));
  ARGOSY_ASSIGN_OR_RETURN(const Values before, state.before(after));
  for (const auto& [name, ignored] : after) add_variable(name, find(now, name), "", one, before);
  ARGOSY_ASSIGN_OR_RETURN(const auto mirrors, state.mirrors(one.written));
  for (const auto& m : mirrors) add_variable(m.name, m.value, str_cat(" on ", m.device), one, before);
  return ok_status();
}

void StepComparison::add_variable(const std::string& name, Tensor got, std::string where, const SingleDeviceRun& one,
                                  const Values& before) {
  StepValue v{.name = name, .one_device = find(one.written, name), .replicated = std::move(got)};
  if (!v.one_device.valid()) v.one_device = find(before, name);  // one device did not write it
  const Tensor was = find(before, name);
  if (was.valid() && was.shape() == v.one_device.shape() && was.shape() == v.replicated.shape()) v.before = was;
  entries_.push_back({.value = std::move(v), .output = -1, .where = std::move(where)});
}

void StepComparison::add_noise(const SingleDeviceRun& perturbed) {
  for (Entry& e : entries_) {
    if (e.output >= 0) {
      argosy::add_noise(e.value, perturbed.outputs[static_cast<std::size_t>(e.output)]);
    } else {
      argosy::add_noise(e.value, find(perturbed.written, e.value.name), find(perturbed.before, e.value.name));
    }
  }
}

std::vector<std::string> StepComparison::differences(DType computed_in) const {
  std::vector<std::string> all;
  for (const Entry& e : entries_) {
    const std::string text = other_than_on_one_device(e.value, computed_in);
    if (!text.empty()) all.push_back(str_cat("'", e.value.name, "'", e.where, " ", text));
  }
  return all;
}

std::string StepComparison::noisy(DType computed_in) const {
  for (const Entry& e : entries_) {
    if (is_noise(e.value, computed_in)) return e.value.name;
  }
  return "";
}

}  // namespace argosy::tf
