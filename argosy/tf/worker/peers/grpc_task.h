// GrpcTask: one other task of a master's session, ours or TensorFlow's, called by WorkerService's methods.
//
// A partition travels as a GraphDef (partition_graph.h). A task of an older TensorFlow that does not know an attribute
// gets the graph again without it. Internal to argosy/tf/worker.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/runtime/tasks/remote_task.h"
#include "argosy/tf/worker/partition_graph.h"
#include "argosy/tf/worker/peers/peer_channel.h"

namespace argosy::tf {

// Thread-safe.
class GrpcTask final : public RemoteTask {
 public:
  struct Options {
    std::shared_ptr<PeerChannel> channel;
    std::string session;
    bool session_called = false;    // the task has a session of that handle
    bool ours = false;              // the task runs Argosy, not TensorFlow
    bool shares_loops = false;      // RemoteTasks::shares_loops
    std::string collective_leader;  // of its graphs' collectives by keys
    std::function<std::uint64_t(const std::string& device)> incarnation;
  };
  explicit GrpcTask(Options options) : options_(std::move(options)), runs_(std::make_shared<Runs>()) {}

  bool ours() const { return options_.ours; }
  const Options& options() const { return options_; }

  void register_graph(const StepGraph& graph, const TaskGraphOptions& options, Registered done) override;
  void deregister_graph(const std::string& handle) override;
  void run_graph(TaskRun run, Ran done) override;
  void abort(std::int64_t step_id, Status cause) override;
  void cleanup(std::int64_t step_id) override;

 private:
  struct Run {
    std::shared_ptr<RpcClientCall> call;
    Status cause;  // of its abort; OK: none
  };
  // Answers refer to it, also when the task is gone.
  struct Runs {
    Mutex mutex;
    std::map<std::string, std::shared_ptr<const PartitionKeys>> graphs ARGOSY_GUARDED_BY(mutex);
    std::map<std::int64_t, Run> runs ARGOSY_GUARDED_BY(mutex);
    UnknownAttributes not_known ARGOSY_GUARDED_BY(mutex);  // attributes that this TensorFlow task refuses
  };
  struct Registration;
  static void send_graph(const std::shared_ptr<Registration>& to);

  const Options options_;
  const std::shared_ptr<Runs> runs_;
  std::atomic<std::int64_t> registrations_{0};
};

}  // namespace argosy::tf
