#include "argosy/tf/server/session/callable_table.h"

#include <algorithm>
#include <string>

#include "argosy/tf/server/session/run_options.h"

namespace argosy::tf {

namespace {

Status no_callable(std::int64_t handle) {
  return invalid_argument("No such callable handle: ", handle).with_id("ARG-RPC-002");
}

std::vector<std::string> strings(const auto& list) { return {list.begin(), list.end()}; }

}  // namespace

Result<std::int64_t> CallableTable::make(Session& session, ImportedGraph& graph,
                                         const tensorflow::CallableOptions& options) {
  ARGOSY_RETURN_IF_ERROR(check_options(options.run_options()));
  auto callable = std::make_shared<MadeCallable>();
  callable->options = options.run_options();
  StepNames asked{strings(options.feed()), strings(options.fetch()), strings(options.target())};
  for (const auto& c : options.tensor_connection()) asked.connections.push_back({c.to_tensor(), c.from_tensor()});
  ARGOSY_ASSIGN_OR_RETURN(callable->step, ResolvedStep::make(session, graph, std::move(asked)));
  const auto& names = callable->step->names().fetches;
  for (const std::string& fetch : options.fetch()) {
    callable->fetches.push_back(static_cast<std::size_t>(std::ranges::find(names, fetch) - names.begin()));
  }
  MutexLock lock(mutex_);
  callables_.emplace(next_, std::move(callable));
  return next_++;
}

Result<std::shared_ptr<MadeCallable>> CallableTable::find(std::int64_t handle) const {
  MutexLock lock(mutex_);
  const auto found = callables_.find(handle);
  if (found == callables_.end()) return no_callable(handle);
  return found->second;
}

Status CallableTable::release(std::int64_t handle) {
  MutexLock lock(mutex_);
  return callables_.erase(handle) > 0 ? ok_status() : no_callable(handle);
}

void CallableTable::clear() {
  MutexLock lock(mutex_);
  callables_.clear();
}

}  // namespace argosy::tf
