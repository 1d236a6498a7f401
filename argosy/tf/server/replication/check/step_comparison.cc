#include "argosy/tf/server/replication/check/step_comparison.h"

namespace argosy::tf {

namespace {

using Values = SessionState::Values;

Tensor find(const Values& all, const std::string& name) {
  const auto found = all.find(name);
  return found != all.end() ? found->second : Tensor();
}

}  // namespace

Result<std::optional<AloneRun>> run_nudged(const SessionState& state, const AloneRun& like, DType computed_in, int k,
                                           const StepCheck::Run& alone) {
  AloneRun run{.given = std::vector<Tensor>(like.given.size()), .before = {}, .written = {}};
  ARGOSY_RETURN_IF_ERROR(state.put_back());
  ARGOSY_RETURN_IF_ERROR(state.nudge(like.written, computed_in, k));
  ARGOSY_ASSIGN_OR_RETURN(run.before, state.now(like.written));
  const bool ran = alone(run.given, nullptr).ok();
  if (ran) {
    ARGOSY_ASSIGN_OR_RETURN(run.written, state.now(like.written));
  }
  ARGOSY_RETURN_IF_ERROR(state.put_back());
  if (!ran) return std::optional<AloneRun>();
  return std::optional(std::move(run));
}

StepComparison::StepComparison(const std::vector<std::string>& names, const std::vector<bool>& summaries,
                               std::size_t fetches, const AloneRun& one, std::span<const Tensor> given) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A loss of which the global batch's value is not known.
    if (summaries[i] || (i >= fetches && !given[i].valid())) continue;
    entries_.push_back({.value = {.name = names[i], .one = one.given[i], .replicated = given[i]},
                        .given = static_cast<int>(i),
                        .where = {}});
  }
}

Status StepComparison::add_written(const SessionState& state, const AloneRun& one) {
  ARGOSY_ASSIGN_OR_RETURN(Values after, state.changed());
  for (const auto& [name, value] : one.written) after.try_emplace(name, Tensor());
  ARGOSY_ASSIGN_OR_RETURN(const Values now, state.now(after));
  ARGOSY_ASSIGN_OR_RETURN(const Values before, state.before(after));
  for (const auto& [name, ignored] : after) add_variable(name, find(now, name), "", one, before);
  ARGOSY_ASSIGN_OR_RETURN(const auto mirrors, state.mirrors(one.written));
  for (const auto& m : mirrors) add_variable(m.name, m.value, str_cat(" on ", m.device), one, before);
  return ok_status();
}

void StepComparison::add_variable(const std::string& name, Tensor got, std::string where, const AloneRun& one,
                                  const Values& before) {
  StepValue v{.name = name, .one = find(one.written, name), .replicated = std::move(got)};
  if (!v.one.valid()) v.one = find(before, name);  // one device did not write it
  const Tensor was = find(before, name);
  if (was.valid() && was.shape() == v.one.shape() && was.shape() == v.replicated.shape()) v.before = was;
  entries_.push_back({.value = std::move(v), .given = -1, .where = std::move(where)});
}

void StepComparison::add_noise(const AloneRun& nudged) {
  for (Entry& e : entries_) {
    if (e.given >= 0) {
      argosy::add_noise(e.value, nudged.given[static_cast<std::size_t>(e.given)]);
    } else {
      argosy::add_noise(e.value, find(nudged.written, e.value.name), find(nudged.before, e.value.name));
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
