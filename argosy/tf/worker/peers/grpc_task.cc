#include "argosy/tf/worker/peers/grpc_task.h"

#include "argosy/base/guard.h"
#include "argosy/base/system/random_source.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/derived_status.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/worker/run_graph_message.h"
#include "argosy/tf/worker/step_metadata.h"

namespace argosy::tf {

namespace {

constexpr std::chrono::milliseconds kShortCall{10'000};
constexpr std::chrono::milliseconds kRegister{600'000};  // compiling a large graph

std::string path(std::string_view method) { return str_cat("/tensorflow.WorkerService/", method); }

std::vector<WirePiece> pieces_of(std::string bytes) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = std::move(bytes);
  return pieces;
}

void set(tensorflow::NodeDef& node, const char* name, const std::string& text) {
  (*node.mutable_attr())[name].set_s(text);
}

std::string timeline_options() {
  tensorflow::ExecutorOpts options;
  options.set_record_timeline(true);
  return options.SerializeAsString();
}

// Turns `node` into an end of a transfer with the client, which the master speaks for.
void make_transfer(tensorflow::NodeDef& node, const char* op, const char* type_attr, DType dtype,
                   const RendezvousKey& key) {
  node.set_op(op);
  node.clear_attr();
  (*node.mutable_attr())[type_attr].set_type(static_cast<tensorflow::DataType>(dtype));
  set(node, "tensor_name", key.edge);
  set(node, "send_device", key.send_device);
  set(node, "recv_device", key.receive_device);
  // Keys as strings: g++ 12 takes a literal here for one that is too short, and warns.
  const std::string incarnation = "send_device_incarnation", terminated = "client_terminated";
  (*node.mutable_attr())[incarnation].set_i(static_cast<std::int64_t>(key.send_incarnation));
  (*node.mutable_attr())[terminated].set_b(true);
}

// Of a value that RunGraph brings or takes: it is said to come from the device itself, where it waits.
RendezvousKey client_key(const std::string& device,
                         const std::function<std::uint64_t(const std::string& device)>& incarnation, std::string edge) {
  return {.send_device = device,
          .send_incarnation = incarnation(device),
          .receive_device = device,
          .edge = std::move(edge)};
}

// The error of a worker, with the worker's name as TensorFlow's master puts it.
Status from_task(const Status& status, const std::string& peer) {
  if (is_derived(status) || status.message().starts_with("From ")) return status;
  return Status(status.code(), str_cat("From ", peer, ":\n", status.message())).with_id(std::string(status.id()));
}

}  // namespace

Status write_partition(const StepGraph& step,
                       const std::function<std::uint64_t(const std::string& device)>& incarnation,
                       tensorflow::GraphDef* def, PartitionKeys* keys) {
  ARGOSY_RETURN_IF_ERROR(export_graph(step.graph, def));
  std::map<std::string, tensorflow::NodeDef*> by_name;
  for (tensorflow::NodeDef& node : *def->mutable_node()) by_name[node.name()] = &node;
  const auto tell_shape = [&](const Node& node) {
    to_proto(node.output_shapes[0],
             (*by_name.at(std::string(node.name))->mutable_attr())[std::string(kReceivedShape)].mutable_shape());
  };
  for (const Node& node : step.graph.nodes()) {
    if (transfer_of(*node.op) == Transfer::kReceive) tell_shape(node);
  }
  for (std::size_t i = 0; i < step.feeds.size(); ++i) {
    const Node& feed = step.graph.node(step.feeds[i]);
    const RendezvousKey key = client_key(std::string(feed.device), incarnation, str_cat("_feed_", i));
    make_transfer(*by_name.at(std::string(feed.name)), "_Recv", "tensor_type", feed.output_dtypes[0], key);
    (*by_name.at(std::string(feed.name))->mutable_attr())[std::string(kNeverDead)].set_b(true);
    tell_shape(feed);
    keys->feeds.push_back(key.to_string());
  }
  for (std::size_t i = 0; i < step.fetches.size(); ++i) {
    const Endpoint fetch = step.fetches[i];
    if (fetch.index == Value::kControl) {
      keys->fetches.emplace_back();
      continue;
    }
    const Node& node = step.graph.node(fetch.node);
    const std::string device(node.device);
    const RendezvousKey key = client_key(device, incarnation, str_cat("_fetch_", i));
    tensorflow::NodeDef& send = *def->add_node();
    send.set_name(str_cat("_send_fetch_", i));
    send.set_device(device);
    make_transfer(send, "_Send", "T", node.output_dtypes[static_cast<std::size_t>(fetch.index)], key);
    send.add_input(fetch.index == 0 ? std::string(node.name) : str_cat(node.name, ":", fetch.index));
    keys->fetches.push_back(key.to_string());
  }
  return ok_status();
}

void GrpcTask::register_graph(const StepGraph& graph, const TaskGraphOptions&, Registered done) {
  tensorflow::GraphDef def;
  auto keys = std::make_shared<PartitionKeys>();
  if (Status status = write_partition(graph, options_.incarnation, &def, keys.get()); !status.ok()) {
    return done(std::move(status));
  }
  tensorflow::GraphOptions passes;  // the master's passes have been
  passes.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
  WireWriter request;
  request.bytes_field(1, options_.session);
  request.bytes_field(2, def.SerializeAsString());
  request.bytes_field(4, passes.SerializeAsString());
  request.varint_field(6, options_.session_called ? 1 : 0);
  if (!options_.collective_leader.empty()) {
    tensorflow::ConfigProto config;
    config.mutable_experimental()->set_collective_group_leader(options_.collective_leader);
    request.bytes_field(8, config.SerializeAsString());
  }
  options_.channel->send(
      path("RegisterGraph"), request.take(), kRegister,
      [runs = runs_, keys, done = std::move(done),
       peer = options_.channel->options().peer](Result<RpcResponse> answer) {
        if (!answer.ok()) return done(from_task(answer.status(), peer));
        tensorflow::RegisterGraphResponse response;
        if (!response.ParseFromString(answer->reader().joined())) {
          return done(internal_error(peer, ": the answer to RegisterGraph is damaged").with_id("ARG-PROTO-003"));
        }
        {
          MutexLock lock(runs->mutex);
          runs->graphs[response.graph_handle()] = keys;
        }
        done(response.graph_handle());
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
