#include "argosy/runtime/session/session_impl.h"

#include <cstdlib>
#include <optional>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/base/system/random_source.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/runtime/tasks/remote_task.h"

namespace argosy {

namespace {
// Step numbers must be unique in a cluster, whichever session starts the step: each begins at a random number.
std::int64_t first_step_of_cluster() {
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 62) - 1;
  return static_cast<std::int64_t>((system_random_source().next() & kBits) | 1);
}
}  // namespace

Session::Impl::Impl(const Graph& graph, SessionOptions options)
    : options_(std::move(options)),
      op_state_(options_.share_op_state_with != nullptr ? options_.share_op_state_with->impl_->op_state_
                                                        : std::make_shared<ResourceManager>()),
      watchdog_(options_.stuck_after),
      next_step_(options_.tasks != nullptr ? first_step_of_cluster() : 1),
      steps_(graph, options_, device_set_, op_state_) {
  if (options_.device_set) {
    device_set_ = options_.device_set;
  } else if (auto made = DeviceSet::make(requested()); made.ok()) {
    device_set_ = *std::move(made);
  } else {
    status_ = std::move(made).status();
    return;
  }
  status_ = open_trace();
}

DeviceRequest Session::Impl::requested() const {
  DeviceRequest request = options_.devices;
  request.deterministic = request.deterministic || options_.reproducible;
  return request;
}

Status Session::Impl::open_trace() {
  const char* const env = std::getenv("ARGOSY_TRACE");
  const std::string path = options_.trace_path.value_or(env != nullptr ? env : "");
  if (path.empty()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(trace_, device_set_->traces().open(path));
  return ok_status();
}

Status Session::Impl::run(ExecutableStep* known, StepSource& source, std::span<const Tensor> feeds,
                          std::span<Tensor> fetches, const RunOptions& options) {
  StepStats traced;
  StepStats* stats = options.stats;
  if (trace_ != nullptr) {
    if (stats == nullptr) stats = &traced;
    stats->keep_ops = true;
  }
  RunContext context(next_step_.fetch_add(1, std::memory_order_relaxed), stats, options_.fetch_handles);
  context.want_deterministic(options_.reproducible);
  std::shared_ptr<ExecutableStep> found;  // outlives what looks at the running step
  ActiveRun active(runs_, context);
  ARGOSY_RETURN_IF_ERROR(active.enter());
  if (options.timeout.count() > 0) ARGOSY_RETURN_IF_ERROR(active.end_after(options.timeout, deadlines_));
  if (options.cancellation != nullptr) active.end_with(*options.cancellation);
  Status status = guarded([&]() -> Status {
    std::optional<Watchdog::Watch> watch;
    if (options.timeout.count() > 0 || options.cancellation != nullptr) {
      watch.emplace(
          watchdog_, context, [&] { active.mark_stuck(); }, options.stuck);
    }
    if (known == nullptr) {
      const InterruptScope interrupts(&context.cancellation());
      const StepCache::CompileTurn compiling(steps_);
      ARGOSY_ASSIGN_OR_RETURN(found, source.find(feeds));
      known = found.get();
      check_interrupted();
    }
    if (!known->collective_key() || options_.tasks == nullptr) return known->run(feeds, fetches, context);
    return run_keyed(*known, feeds, fetches, context);
  });
  if (trace_ != nullptr) trace_->add(*stats, context.step_id());
  return status;
}

// Runs a step whose collectives meet those of other tasks' steps, under their common number. A derived error is
// returned as the original one: its mark is removed.
Status Session::Impl::run_keyed(ExecutableStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                                RunContext& context) {
  const std::int64_t key = *step.collective_key();
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step_id, options_.tasks->begin_keyed(key, context.cancellation()));
  context.set_step_id(step_id);
  const Status status = guarded([&] { return step.run(feeds, fetches, context); });
  options_.tasks->end_keyed(key, step_id, status);
  return without_derived_mark(status);
}

Result<std::shared_ptr<const Step>> Session::Impl::inspect(const std::vector<std::pair<Value, Shape>>& feeds,
                                                           const std::vector<Value>& fetches,
                                                           const std::vector<Value>& targets,
                                                           const Connections& connections) {
  std::vector<Value> fed;
  std::vector<PartialShape> shapes;
  for (const auto& [value, shape] : feeds) {
    fed.push_back(value);
    shapes.emplace_back(shape);
  }
  ARGOSY_ASSIGN_OR_RETURN(StepSignature asked, signature(fed, fetches, targets, connections));
  asked.feed_shapes = std::move(shapes);
  return steps_.compile_for_inspection(asked);
}

void Session::Impl::begin_close() {
  steps_.close();
  runs_.begin_close();
}

Status Session::Impl::close() {
  steps_.close();
  ARGOSY_RETURN_IF_ERROR(runs_.close(options_.stuck_after));
  steps_.clear();
  if (options_.share_op_state_with == nullptr) op_state_->clear();
  for (int d = 0; device_set_ && d < device_set_->size(); ++d) device_set_->arenas(d).trim();
  return ok_status();
}

void Session::Impl::wait() {
  runs_.wait();
  if (const Status closed = close(); !closed.ok()) ARGOSY_LOG(kWarning, "closing a session: ", closed);
}

}  // namespace argosy
