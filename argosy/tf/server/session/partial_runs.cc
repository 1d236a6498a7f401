#include "argosy/tf/server/session/partial_runs.h"

#include <optional>

#include "argosy/base/guard.h"
#include "argosy/tf/server/service/stuck_call.h"
#include "argosy/tf/server/session/step_response.h"

namespace argosy::tf {

Result<std::string> PartialRuns::set_up(const StepNames& names) {
  {
    MutexLock lock(mutex_);
    if (runs_.size() + setting_up_ >= kMostOpen) {
      return resource_exhausted("the session has ", kMostOpen, " partial runs that are not over, as many as it takes")
          .with_id("ARG-RPC-010")
          .with_hint("fetch all that a partial run announced before the next one is set up, or close the session");
    }
    ++setting_up_;
  }
  auto run = guarded([&] { return make(names); });
  MutexLock lock(mutex_);
  --setting_up_;
  ARGOSY_RETURN_IF_ERROR(Status(run.status()));
  std::string handle = str_cat(options_.handle, ":", ++next_);
  runs_.emplace(handle, *std::move(run));
  return handle;
}

Result<std::shared_ptr<PartialRun>> PartialRuns::make(const StepNames& names) {
  ARGOSY_ASSIGN_OR_RETURN(auto run, PartialRun::make(session_, graph_, names, options_));
  if (replication_ != nullptr) {
    StepValues values;
    ARGOSY_RETURN_IF_ERROR(session_.mutate_graph([&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(values, find_values(graph_, names));
      return ok_status();
    }));
    replication_->runs_partially(values);
  }
  return run;
}

Result<std::shared_ptr<PartialRun>> PartialRuns::find(std::string_view handle) {
  MutexLock lock(mutex_);
  const auto found = runs_.find(handle);
  if (found != runs_.end()) return found->second;
  return invalid_argument("Must run PartialRunSetup before performing partial runs: there is no partial run \"", handle,
                          "\", or it is over");
}

Result<std::vector<WirePiece>> PartialRuns::run(const StepRequest& request, const TensorWire& wire, CallContext& call) {
  ARGOSY_ASSIGN_OR_RETURN(const auto run, find(request.partial_run));
  if (!request.targets.empty()) return invalid_argument("a partial run takes its targets from PartialRunSetup");
  std::vector<std::pair<std::string, Tensor>> feeds;
  for (const StepRequest::Feed& feed : request.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(feed.tensor, wire));
    feeds.emplace_back(feed.name, std::move(tensor));
  }
  const std::vector<std::string> fetches(request.fetches.begin(), request.fetches.end());
  call.expect_duration(-1);
  std::optional<StepExclusion::Shared> shared;
  if (replication_ != nullptr) {
    ARGOSY_RETURN_IF_ERROR(replication_->gather_slots(call.cancellation()));
    ARGOSY_ASSIGN_OR_RETURN(StepExclusion::Shared entered, replication_->enter_shared(true, call.cancellation()));
    shared.emplace(std::move(entered));
  }
  StuckCall stuck(options_.stuck, call, request.errors_in_body, options_.task);
  auto fetched = run->run(feeds, fetches, call.cancellation(), &stuck);
  shared.reset();
  if (replication_ != nullptr) replication_->variables_written();
  if (run->over()) {
    std::shared_ptr<PartialRun> gone;  // with no lock held
    MutexLock lock(mutex_);
    if (const auto at = runs_.find(request.partial_run); at != runs_.end()) {
      gone = std::move(at->second);
      runs_.erase(at);
    }
  }
  // A cancelled call ends with the reason of the cancellation: no node of it is to blame.
  if (!fetched.ok() && call.cancellation().cancelled()) return call.cancellation().status();
  ARGOSY_RETURN_IF_ERROR(Status(fetched.status()));
  WireWriter response;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(add_fetch(fetches[i], (*fetched)[i], wire, response));
  }
  ARGOSY_RETURN_IF_ERROR(check_size(response));
  return response.take();
}

void PartialRuns::begin_close() {
  MutexLock lock(mutex_);
  for (const auto& [handle, run] : runs_) run->begin_close();
}

Status PartialRuns::close() {
  begin_close();
  decltype(runs_) all;
  {
    MutexLock lock(mutex_);
    all.swap(runs_);
  }
  Status closed;
  for (const auto& [handle, run] : all) {
    Status one = run->close();
    if (closed.ok()) closed = std::move(one);
  }
  return closed;
}

}  // namespace argosy::tf
