#include "argosy/tf/worker/peers/grpc_task.h"

#include "argosy/base/guard.h"
#include "argosy/base/system/random_source.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/tf/worker/run_graph_message.h"
#include "argosy/tf/worker/step_metadata.h"

namespace argosy::tf {

namespace {

constexpr std::chrono::milliseconds kShortCall{10'000};

std::string path(std::string_view method) { return str_cat("/tensorflow.WorkerService/", method); }

std::vector<WirePiece> pieces_of(std::string bytes) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(bytes);
  return pieces;
}

std::string timeline_options() {
  tensorflow::ExecutorOpts options;
  options.set_record_timeline(true);
  return options.SerializeAsString();
}

// The error of a worker, with the worker's name as TensorFlow's master puts it.
Status from_task(const Status& status, const std::string& peer) {
  if (is_derived(status) || status.message().starts_with("From ")) return status;
  return Status(status.code(), str_cat("From ", peer, ":\n", status.message()))
      .with_id(std::string(status.id()))
      .with_hint(status.hint());
}

}  // namespace

// A graph on its way. Answers refer to it.
struct GrpcTask::Registration {
  std::shared_ptr<PeerChannel> channel;
  std::shared_ptr<Runs> runs;
  std::string session, collective_leader;
  bool session_called = false, ours = false;
  tensorflow::GraphDef def;
  std::shared_ptr<PartitionKeys> keys;
  Registered done;
};

void GrpcTask::register_graph(const StepGraph& graph, const TaskGraphOptions&, Registered done) {
  auto to = std::make_shared<Registration>();
  to->channel = options_.channel;
  to->runs = runs_;
  to->session = options_.session;
  to->collective_leader = options_.collective_leader;
  to->session_called = options_.session_called;
  to->ours = options_.ours;
  to->keys = std::make_shared<PartitionKeys>();
  const std::int64_t number = registrations_.fetch_add(1, std::memory_order_relaxed);
  if (Status status = write_partition(graph, options_.incarnation, number, &to->def, to->keys.get()); !status.ok()) {
    return done(std::move(status));
  }
  if (!to->ours) {
    MutexLock lock(runs_->mutex);
    runs_->not_known.leave_out(to->def);
  }
  to->done = std::move(done);
  send_graph(to);
}

void GrpcTask::send_graph(const std::shared_ptr<Registration>& to) {
  tensorflow::GraphOptions passes;  // the master's passes have been
  passes.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
  WireWriter request;
  request.bytes_field(1, to->session);
  request.bytes_field(2, to->def.SerializeAsString());
  request.bytes_field(4, passes.SerializeAsString());
  request.varint_field(6, to->session_called ? 1 : 0);
  if (!to->collective_leader.empty()) {
    tensorflow::ConfigProto config;
    config.mutable_experimental()->set_collective_group_leader(to->collective_leader);
    request.bytes_field(8, config.SerializeAsString());
  }
  if (to->ours) to->def.Clear();
  // Compiling a large graph takes as long as it takes. A task that is silent meanwhile is lost.
  (void)to->channel->start(path("RegisterGraph"), request.take(), [to](Result<RpcResponse> answer) {
    const std::string& peer = to->channel->options().peer;
    if (!answer.ok()) {
      bool again = false;
      if (!to->ours) {
        MutexLock lock(to->runs->mutex);
        again = to->runs->not_known.learn(answer.status().message()) && to->runs->not_known.leave_out(to->def);
      }
      if (again) return send_graph(to);
      return to->done(from_task(answer.status(), peer));
    }
    tensorflow::RegisterGraphResponse response;
    if (!response.ParseFromString(answer->reader().joined())) {
      return to->done(internal_error(peer, ": the answer to RegisterGraph is damaged").with_id("ARG-PROTO-003"));
    }
    {
      MutexLock lock(to->runs->mutex);
      to->runs->graphs[response.graph_handle()] = to->keys;
    }
    to->done(response.graph_handle());
  });
}

void GrpcTask::deregister_graph(const std::string& handle) {
  {
    MutexLock lock(runs_->mutex);
    runs_->graphs.erase(handle);
  }
  tensorflow::DeregisterGraphRequest request;
  request.set_graph_handle(handle);
  request.set_session_handle(options_.session);
  request.set_create_worker_session_called(options_.session_called);
  options_.channel->send(path("DeregisterGraph"), pieces_of(request.SerializeAsString()), kShortCall,
                         [](const Result<RpcResponse>&) {});
}

void GrpcTask::run_graph(TaskRun run, Ran done) {
  std::shared_ptr<const PartitionKeys> keys;
  {
    MutexLock lock(runs_->mutex);
    const auto found = runs_->graphs.find(run.handle);
    if (found != runs_->graphs.end()) keys = found->second;
    if (keys != nullptr) runs_->runs[run.step_id] = {};
  }
  if (keys == nullptr) return done(internal_error("graph ", run.handle, " was not registered with this task"));
  RunGraphCall call{.session = options_.session,
                    .graph = run.handle,
                    .step_id = run.step_id,
                    .request_id = static_cast<std::int64_t>(system_random_source().next() >> 1 | 1),
                    .sends = {},
                    .receives = {},
                    .options = run.stats != nullptr && run.stats->keep_ops ? timeline_options() : std::string(),
                    .session_called = options_.session_called};
  for (std::size_t i = 0; i < run.feeds.size(); ++i) call.sends.emplace_back(keys->feeds[i], std::move(run.feeds[i]));
  for (const std::string& key : keys->fetches) {
    if (!key.empty()) call.receives.push_back(key);
  }
  const std::int64_t step_id = run.step_id;
  const auto ended = [runs = runs_, step_id] {
    MutexLock lock(runs->mutex);
    const auto at = runs->runs.find(step_id);
    if (at == runs->runs.end()) return ok_status();
    Status cause = std::move(at->second.cause);
    runs->runs.erase(at);
    return cause;
  };
  auto request = write_run_graph(call);
  if (!request.ok()) {
    (void)ended();
    return done(std::move(request).status());
  }
  const auto answered = [keys, ended, done = std::move(done), stats = run.stats,
                         peer = options_.channel->options().peer](Result<RpcResponse> answer) {
    const Status aborted_by = ended();
    if (!answer.ok() && !aborted_by.ok()) return done(derived_status(aborted_by));
    if (!answer.ok()) return done(from_task(answer.status(), peer));
    auto values = guarded([&] { return read_run_graph_answer(answer->reader()); });
    if (!values.ok()) return done(from_task(values.status(), peer));
    if (stats != nullptr) {
      tensorflow::StepStats told;
      if (told.ParseFromString(values->step_stats)) read_step_stats(told, *stats);
    }
    std::map<std::string_view, Tensor*> by_key;
    for (auto& [key, value] : values->received) by_key[key] = &value;
    std::vector<Tensor> fetched(keys->fetches.size());
    for (std::size_t i = 0; i < fetched.size(); ++i) {
      if (keys->fetches[i].empty()) continue;
      const auto at = by_key.find(keys->fetches[i]);
      if (at == by_key.end()) return done(internal_error(peer, " did not give the value ", keys->fetches[i]));
      fetched[i] = *at->second;
    }
    done(std::move(fetched));
  };
  const auto started = options_.channel->start(path("RunGraph"), *std::move(request), answered);
  MutexLock lock(runs_->mutex);
  const auto at = runs_->runs.find(step_id);
  if (at == runs_->runs.end()) return;
  at->second.call = started;
  if (!at->second.cause.ok()) started->cancel();
}

void GrpcTask::abort(std::int64_t step_id, Status cause) {
  std::shared_ptr<RpcClientCall> call;
  {
    MutexLock lock(runs_->mutex);
    const auto at = runs_->runs.find(step_id);
    if (at == runs_->runs.end()) return;
    if (at->second.cause.ok()) at->second.cause = std::move(cause);
    call = at->second.call;
  }
  if (call != nullptr) call->cancel();
}

void GrpcTask::cleanup(std::int64_t step_id) {
  tensorflow::CleanupGraphRequest request;
  request.set_step_id(step_id);
  options_.channel->send(path("CleanupGraph"), pieces_of(request.SerializeAsString()), kShortCall,
                         [](const Result<RpcResponse>&) {});
}

}  // namespace argosy::tf
