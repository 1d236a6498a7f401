#include "argosy/tf/worker/cluster_tasks.h"

#include <algorithm>
#include <thread>

#include "argosy/base/guard.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/ops.h"
#include "argosy/tf/worker/device_attributes.h"
#include "argosy/tf/worker/peers/grpc_task.h"
#include "argosy/tf/worker/shared_loops.h"

namespace argosy::tf {

namespace {

constexpr const char* kGetStatus = "/tensorflow.WorkerService/GetStatus";
constexpr std::chrono::milliseconds kOneTry{3000};
constexpr std::chrono::milliseconds kShortTry{100};  // where less time than that is left
constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr std::chrono::milliseconds kShortCall{10'000};

std::vector<WirePiece> pieces_of(const google::protobuf::Message& message) {
  std::vector<WirePiece> pieces(1);
  pieces[0].bytes = message.SerializeAsString();
  return pieces;
}

bool passes(const std::vector<std::string>& filters, const TaskName& task) {
  if (filters.empty()) return true;
  const DeviceName name{task.job, 0, task.task, "", std::nullopt};
  return std::ranges::any_of(filters, [&](const std::string& text) {
    auto filter = DeviceName::parse(text);
    if (!filter.ok()) return false;
    filter->type.clear();
    filter->id.reset();
    return filter->matches(name);
  });
}

tensorflow::ClusterDef cluster_def(const ClusterSpec& cluster) {
  tensorflow::ClusterDef def;
  for (const auto& [job, tasks] : cluster.jobs) {
    tensorflow::JobDef& to = *def.add_job();
    to.set_name(job);
    for (const auto& [task, address] : tasks) (*to.mutable_tasks())[task] = address;
  }
  return def;
}

std::chrono::milliseconds time_of_try(std::chrono::steady_clock::time_point until) {
  const auto left = until - std::chrono::steady_clock::now();
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(left), kShortTry, kOneTry);
}

std::string seconds_text(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? str_cat(time.count() / 1000, " s") : str_cat(time.count(), " ms");
}

}  // namespace

ClusterTasks::ClusterTasks(WorkerService& worker, ClusterTasksOptions options, std::shared_ptr<Peers> peers)
    : worker_(worker), options_(std::move(options)), peers_(std::move(peers)) {
  for (const DeviceSpec& spec : options_.own) incarnations_[spec.name.to_string()] = spec.incarnation;
}

bool ClusterTasks::is_used(const TaskName& task) const {
  return task != peers_->own() && passes(options_.device_filters, task);
}

Result<std::shared_ptr<ClusterTasks>> ClusterTasks::connect(WorkerService& worker, ClusterTasksOptions options,
                                                            Cancellation& cancellation) {
  if (!options.collective_leader.empty()) {
    ARGOSY_RETURN_IF_ERROR(worker.collectives().leader().ask_for(options.collective_leader));
  }
  std::shared_ptr<Peers> peers = worker.peers();
  if (!options.cluster_def.empty()) {
    tensorflow::ClusterDef def;
    if (!def.ParseFromString(options.cluster_def)) return invalid_argument("ConfigProto.cluster_def is damaged");
    ClusterSpec cluster;
    for (const tensorflow::JobDef& job : def.job()) {
      for (const auto& [task, address] : job.tasks()) cluster.jobs[job.name()][task] = address;
    }
    ARGOSY_ASSIGN_OR_RETURN(cluster, ClusterSpec::parse(cluster.to_json()));
    if (cluster != peers->cluster()) {
      peers = std::make_shared<Peers>(std::move(cluster), peers->own(), peers->credentials());
    }
  }
  std::shared_ptr<ClusterTasks> tasks(new ClusterTasks(worker, std::move(options), std::move(peers)));
  ARGOSY_RETURN_IF_ERROR(tasks->find_tasks(cancellation));
  ARGOSY_RETURN_IF_ERROR(tasks->open_sessions(cancellation));
  return tasks;
}

Status ClusterTasks::find_tasks(Cancellation& cancellation) {
  struct Found {
    TaskName task;
    Status problem;
    tensorflow::GetStatusResponse status;
  };
  std::vector<Found> wanted;
  for (const TaskName& task : peers_->cluster().tasks()) {
    if (is_used(task)) wanted.push_back({.task = task, .problem = unavailable("not asked yet"), .status = {}});
  }
  // All at once, again and again: a task that is not there yet may be starting.
  const auto until = std::chrono::steady_clock::now() + options_.timeout;
  while (true) {
    std::vector<std::jthread> asking;  // where one cannot start, the others are waited for
    for (Found& found : wanted) {
      if (found.problem.ok()) continue;
      asking.emplace_back([this, &found, &cancellation, until] {
        found.problem = guarded([&]() -> Status {
          ARGOSY_ASSIGN_OR_RETURN(const auto channel, peers_->channel(found.task));
          ARGOSY_ASSIGN_OR_RETURN(const auto answer, channel->call(kGetStatus, {}, time_of_try(until), &cancellation));
          if (found.status.ParseFromString(answer.reader().joined())) return ok_status();
          return internal_error("the answer to GetStatus is damaged");
        });
      });
    }
    asking.clear();
    if (cancellation.cancelled()) return cancellation.status();
    if (std::ranges::all_of(wanted, [](const Found& f) { return f.problem.ok(); })) break;
    if (std::chrono::steady_clock::now() >= until) {
      std::vector<std::string> missing;
      for (const Found& found : wanted) {
        if (found.problem.ok()) continue;
        missing.push_back(
            str_cat(found.task, " at ", *peers_->cluster().address(found.task), " (", found.problem.message(), ")"));
      }
      return unavailable("no answer for ", seconds_text(options_.timeout), " from ", str_join(missing))
          .with_id("ARG-CLUSTER-018")
          .with_hint("start them; or leave them out: ConfigProto.device_filters");
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  for (const Found& found : wanted) {
    std::vector<DeviceSpec> devices;
    for (const auto& device : found.status.device_attributes()) {
      ARGOSY_ASSIGN_OR_RETURN(DeviceSpec spec, read_device(device));
      if (spec.name.job != found.task.job || spec.name.task != found.task.task) {
        return invalid_argument("at ", *peers_->cluster().address(found.task), " is ", spec.name, ", wanted ",
                                found.task)
            .with_id("ARG-CLUSTER-010")
            .with_hint("start every task with the same --cluster");
      }
      if (spec.name.type == "CPU" || spec.name.type == "GPU") devices.push_back(std::move(spec));
    }
    std::ranges::stable_sort(devices, {}, [](const DeviceSpec& s) { return s.is_gpu(); });
    for (DeviceSpec& spec : devices) {
      incarnations_[spec.name.to_string()] = spec.incarnation;
      devices_.push_back(std::move(spec));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto channel, peers_->channel(found.task));
    tasks_[found.task] = std::make_unique<GrpcTask>(
        GrpcTask::Options{.channel = channel,
                          .session = options_.session,
                          .session_called = opens_sessions(),
                          .ours = found.status.argosy_protocol() > 0,
                          .shares_loops = numbers_frames_as_we(found.status),
                          .collective_leader = worker_.collectives().leader().asked_for(),
                          .incarnation = [this](const std::string& device) { return incarnation(device); }});
  }
  return ok_status();
}

Status ClusterTasks::open_sessions(Cancellation& cancellation) {
  if (!opens_sessions()) return ok_status();
  for (const auto& [name, task] : tasks_) {
    tensorflow::CreateWorkerSessionRequest request;
    request.set_session_handle(options_.session);
    request.set_isolate_session_state(options_.isolate_state);
    request.set_master_task(peers_->own().to_string());
    request.set_master_incarnation(static_cast<std::int64_t>(options_.master_incarnation));
    tensorflow::ServerDef& server = *request.mutable_server_def();
    *server.mutable_cluster() = cluster_def(peers_->cluster());
    server.set_job_name(name.job);
    server.set_task_index(name.task);
    server.set_protocol("grpc");
    auto& experimental = *server.mutable_default_session_config()->mutable_experimental();
    // TensorFlow's workers would start a coordination service, and wait for tasks that know none.
    experimental.mutable_coordination_config()->set_force_disable(true);
    request.mutable_coordination_service_config()->set_force_disable(true);
    const auto answer = task->options().channel->call("/tensorflow.WorkerService/CreateWorkerSession",
                                                      pieces_of(request), kShortCall, &cancellation);
    if (!answer.ok()) return answer.status();
  }
  return ok_status();
}

ClusterTasks::~ClusterTasks() {
  if (!opens_sessions()) return;
  tensorflow::DeleteWorkerSessionRequest request;
  request.set_session_handle(options_.session);
  for (const auto& [name, task] : tasks_) {
    task->options().channel->send("/tensorflow.WorkerService/DeleteWorkerSession", pieces_of(request), kShortCall,
                                  [](const Result<RpcResponse>&) {});
  }
}

bool ClusterTasks::has_kernel(const OpDef& op, const DeviceSpec& device) const {
  const auto task = tasks_.find({device.name.job, device.name.task.value_or(0)});
  if (task == tasks_.end()) return false;
  // A task of TensorFlow knows none of our own ops, which begin with '_' as its internal ones do.
  if (!task->second->ours()) return !op.name.starts_with('_') || op.name == "_Send" || op.name == "_Recv";
  // What an emulated GPU runs; a real one's worker moves the rest to its CPU.
  return cpu_kernels().has(op.name, "cpu");
}

std::uint64_t ClusterTasks::incarnation(const std::string& device) const {
  const auto found = incarnations_.find(device);
  return found == incarnations_.end() ? 0 : found->second;
}

RemoteTask* ClusterTasks::task(const DeviceName& device) {
  const auto found = tasks_.find({device.job, device.task.value_or(0)});
  return found == tasks_.end() ? nullptr : found->second.get();
}

std::shared_ptr<TaskRendezvous> ClusterTasks::rendezvous(std::int64_t step_id) {
  worker_.receives().begin(step_id, peers_);
  return worker_.steps().find(step_id);
}

bool ClusterTasks::shares_loops(const DeviceName& device) const {
  const auto found = tasks_.find({device.job, device.task.value_or(0)});
  return found == tasks_.end() || found->second->options().shares_loops;
}

bool ClusterTasks::has_foreign_task() const {
  return std::ranges::any_of(tasks_, [](const auto& task) { return !task.second->ours(); });
}

Status cleanup_all(Peers& peers, const std::vector<std::string>& device_filters,
                   const std::vector<std::string>& containers, std::chrono::milliseconds timeout) {
  tensorflow::CleanupAllRequest request;
  for (const std::string& container : containers) request.add_container(container);
  struct Asked {
    std::shared_ptr<PeerChannel> channel;
    Status status;
  };
  std::vector<Asked> all;
  for (const TaskName& task : peers.cluster().tasks()) {
    if (task == peers.own() || !passes(device_filters, task)) continue;
    ARGOSY_ASSIGN_OR_RETURN(auto channel, peers.channel(task));
    all.push_back({.channel = std::move(channel), .status = ok_status()});
  }
  {
    std::vector<std::jthread> asking;  // all at once: several may be silent
    for (Asked& asked : all) {
      asking.emplace_back([&asked, &request, timeout] {
        asked.status = guarded([&]() -> Status {
          const auto answer = asked.channel->call("/tensorflow.WorkerService/CleanupAll", pieces_of(request), timeout);
          if (answer.status().code() == Code::kDeadlineExceeded) {
            return asked.channel->lost_task(str_cat("no answer for ", seconds_text(timeout)));
          }
          return is_connection_error(answer.status()) ? asked.channel->lost_task(answer.status().message())
                                                      : Status(answer.status());
        });
      });
    }
  }
  for (Asked& asked : all) ARGOSY_RETURN_IF_ERROR(std::move(asked.status));
  return ok_status();
}

}  // namespace argosy::tf
