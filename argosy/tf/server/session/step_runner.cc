#include "argosy/tf/server/session/step_runner.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/tf/server/service/stuck_call.h"
#include "argosy/tf/worker/step_metadata.h"

namespace argosy::tf {

std::int64_t StepRunner::timeout_ms(const tensorflow::RunOptions& options) const {
  return options.timeout_in_ms() > 0 ? options.timeout_in_ms() : options_.config.timeout.count();
}

Status StepRunner::set_deadline(const tensorflow::RunOptions& options, Cancellation& cancellation,
                                Deadline& deadline) const {
  const std::int64_t timeout = timeout_ms(options);
  if (timeout <= 0 || options_.deadlines == nullptr) return ok_status();
  // Longer than a year is for ever, and would overflow the clock.
  constexpr std::int64_t kYear = std::int64_t{366} * 24 * 3600 * 1000;
  const auto wait = std::chrono::milliseconds(std::min(timeout, kYear));
  return deadline.set(std::chrono::steady_clock::now() + wait, cancellation,
                      str_cat("Operation timed out: the step took longer than ", timeout, " ms"));
}

Result<std::vector<Tensor>> StepRunner::run(ResolvedStep& step, std::vector<Tensor> feeds,
                                            const tensorflow::RunOptions& options, CallContext& call,
                                            Deadline& deadline, bool errors_in_body,
                                            tensorflow::RunMetadata* metadata) {
  Cancellation& cancellation = call.cancellation();
  StepStats stats;
  const bool trace = metadata != nullptr && options.trace_level() == tensorflow::RunOptions::FULL_TRACE;
  stats.keep_ops = stats.keep_outputs = trace;
  WorkCounter* const work = options_.work;
  std::vector<Tensor> fetched(step.num_fetches());
  call.expect_duration(timeout_ms(options) > 0 ? -1 : step.typical_nanos());
  const std::int64_t start = now_nanos();
  if (work != nullptr) work->step_begins();
  StuckCall stuck(options_.stuck, call, errors_in_body, options_.task);
  const RunOptions run_options{
      .cancellation = &cancellation, .stats = trace || work != nullptr ? &stats : nullptr, .stuck = &stuck};
  Status status = guarded([&] {
    return replication_ != nullptr ? replication_->run(step, feeds, fetched, run_options)
                                   : step.callable().run(feeds, fetched, run_options);
  });
  // A cancelled step ends with the reason of the cancellation: no node of it is to blame.
  const bool cancelled = !status.ok() && cancellation.cancelled();
  if (work != nullptr) {
    work->step_ends(cancelled ? cancellation.status().code() : status.code(), stats, *options_.device_set);
  }
  step.ran(now_nanos() - start);
  deadline.end();
  if (cancelled) return cancellation.status();
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  if (metadata != nullptr) {
    const InterruptScope interrupts(&cancellation,
                                    /*between_blocks=*/false);  // who waits for the graph ends with the call
    ARGOSY_RETURN_IF_ERROR(fill_metadata(step, options, stats, feeds, *metadata));
  }
  return fetched;
}

Status StepRunner::fill_metadata(const ResolvedStep& step, const tensorflow::RunOptions& options,
                                 const StepStats& stats, const std::vector<Tensor>& feeds,
                                 tensorflow::RunMetadata& to) {
  PlacementReport placement;
  if (options.output_partition_graphs()) {
    if (!options_.config.partition_graphs) {
      return invalid_argument(
          "RunOptions.output_partition_graphs is set, ConfigProto.experimental.disable_output_partition_graphs as "
          "well");
    }
    std::vector<std::pair<Value, Shape>> shapes;
    for (std::size_t i = 0; i < feeds.size(); ++i) shapes.emplace_back(step.values().feeds[i], feeds[i].shape());
    ARGOSY_ASSIGN_OR_RETURN(
        placement, session_.placement(shapes, step.values().fetches, step.values().targets, step.values().connections));
  }
  // The graph is only read, under the lock that keeps it as it is.
  return session_.mutate_graph([&] {
    if (options.trace_level() == tensorflow::RunOptions::FULL_TRACE) add_step_stats(stats, graph_.graph(), to);
    add_partition_graphs(placement, graph_.graph(), to);
    return ok_status();
  });
}

}  // namespace argosy::tf
