// ClientSessionOptions: the configuration of a ClientSession. Internal to the session server.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "argosy/runtime/device_set/deadlines.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/tf/server/feeds/lent_feeds.h"
#include "argosy/tf/server/planning/planned_step.h"
#include "argosy/tf/server/replication/replica_totals.h"
#include "argosy/tf/server/service/stuck_steps.h"
#include "argosy/tf/server/service/work_totals.h"
#include "argosy/tf/server/session/session_config.h"
#include "argosy/tf/worker/cluster_tasks.h"

namespace argosy::tf {

// Everything pointed to outlives the session.
struct ClientSessionOptions {
  std::string handle;
  std::string task = "/job:localhost/replica:0/task:0";  // this task's name, for error texts
  SessionConfig config;
  std::shared_ptr<DeviceSet> device_set;            // the session's own view of the server's devices
  std::shared_ptr<ClusterTasks> tasks = nullptr;    // the other tasks of its cluster; null: none
  std::int64_t feed_limit = 1ll << 33;              // bytes of one fed tensor
  std::shared_ptr<LentFeeds> lent_feeds = nullptr;  // null: clients send every feed
  Deadlines* deadlines = nullptr;                   // null: steps have no timeout
  WorkCounter* work = nullptr;                      // null: steps are not measured
  StuckSteps* stuck = nullptr;                      // null: stuck steps are not listed
  std::chrono::milliseconds stuck_after{10000};     // SessionOptions::stuck_after
  ReplicaCounter* replicas = nullptr;               // not null: training steps are replicated over the session's GPUs
  int most_gpus = 0;             // replicated steps use at most so many GPUs; 0: all of the session's
  bool sync_batch_norm = false;  // replicated steps normalise by statistics of the global batch
  int check = 0;  // the first `check` runs of each replicated step also run on one device, and are compared
  StrategySpec strategy = {};  // of replicated steps; automatic: one device if that is predicted to be faster
  std::shared_ptr<const PlannedStep> planned = nullptr;  // the replayed plan's step; null: no plan is replayed
};

}  // namespace argosy::tf
