// SessionService: implements TensorFlow's MasterService on messages, without a transport: sessions by handle, ten
// methods, metrics. Thread-safe. A call runs on its caller's thread and may block for ever (a dequeue from an empty
// queue).
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "argosy/rpc/transport/rpc_method.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/tf/server/planning/planned_step.h"
#include "argosy/tf/server/service/master_method.h"
#include "argosy/tf/server/service/service_metrics.h"
#include "argosy/tf/server/service/session_table.h"

namespace argosy::tf {

struct SessionServiceOptions {
  std::shared_ptr<DeviceSet> device_set;
  std::string task = "/job:localhost/replica:0/task:0";  // this task's name, for error texts
  WorkerService* worker = nullptr;    // this task's; sessions use the other tasks of its cluster; null: no cluster
  std::int64_t feed_limit_bytes = 0;  // of one fed tensor; 0: a quarter of the host's memory
  std::shared_ptr<LentFeeds> lent_feeds = nullptr;  // finds feeds in memory of clients; null: clients send every feed
  int max_sessions = 5000;                          // RESOURCE_EXHAUSTED above
  std::chrono::seconds lease{0};                    // closes sessions that had no call for so long; 0: never
  std::chrono::seconds client_lease{0};             // closes sessions whose client is gone for so long; 0: never
  std::chrono::milliseconds stuck_after{10000};     // SessionOptions::stuck_after
  bool count_work = false;                          // see work(); costs about 50 ns an op
  bool replicate = false;        // training steps run on all GPUs of their session, a shard of the batch on each
  int most_gpus = 0;             // replicated steps use at most so many GPUs; 0: all
  bool sync_batch_norm = false;  // replicated steps normalise by statistics of the global batch
  int check = 0;  // the first `check` runs of each replicated step also run on one device, and are compared
  StrategySpec strategy = {};  // of replicated steps; automatic: one device if that is predicted to be faster
  std::shared_ptr<const PlannedStep> planned = nullptr;  // the replayed plan's step; null: no plan is replayed
};

class SessionService {
 public:
  using Options = SessionServiceOptions;
  explicit SessionService(Options options);
  ~SessionService();  // closes every session

  // Returns the response message, or the error of the call. A step's error is in the response if the client asked for
  // it there (store_errors_in_response_body).
  RpcReply call(Method method, WireReader request, CallContext& context);

  // Closes every session; containers keep their resources.
  void close_all();
  // Closes sessions whose lease has expired, and returns their number. The owner calls it periodically.
  int close_expired();

  // If no session is open, frees the memory that devices cache for later allocations.
  void give_memory_back();

  std::vector<SessionInfo> sessions() const { return sessions_.infos(); }
  bool any_session() const { return !sessions_.empty(); }
  DeviceSet& device_set() const { return *options_.device_set; }
  ServiceMetrics& metrics() { return metrics_; }
  // Without count_work all counts are zero, except those of replication.
  WorkTotals work() const { return work_.totals(replicas_.totals()); }
  const StuckSteps& stuck() const { return stuck_; }
  bool replicates() const { return options_.replicate; }
  ReplicaTotals replicas() const { return replicas_.totals(); }

 private:
  RpcReply dispatch(Method method, WireReader request, CallContext& context);
  RpcReply create_session(WireReader request, CallContext& context);
  RpcReply run_step(WireReader request, CallContext& context);
  RpcReply run_callable(WireReader request, CallContext& context);
  RpcReply close_session(WireReader request);
  RpcReply reset(WireReader request);

  const Options options_;
  Deadlines deadlines_;
  ServiceMetrics metrics_;
  WorkCounter work_;
  ReplicaCounter replicas_;
  StuckSteps stuck_;
  SessionTable sessions_;
};

}  // namespace argosy::tf
