// SessionServer: serves the devices of this process at a port, to TensorFlow clients:
// tf.Session("grpc://localhost:2222").
//
//   auto server = tf::SessionServer::start({.devices = {.emulate = "2"}, .port = 2222});
//   if (!server.ok()) …
//   std::puts((*server)->address().c_str());  // "localhost:2222"
//   …
//   (*server)->stop();
//
// A client that may connect runs programs with the rights of this process. By default the server binds loopback, and
// only its own user and root may connect. Any other address needs certificates on both sides or a list of networks
// (SECURITY.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/cluster/cluster_spec.h"
#include "argosy/device/device.h"
#include "argosy/strategy/strategy_spec.h"
#include "argosy/tf/server/planning/planned_step.h"
#include "argosy/tf/server/service/work_totals.h"

namespace argosy::tf {

// This server as one task of a cluster. Its devices are named after it, and its port also serves TensorFlow's
// WorkerService. Sessions of its clients may place nodes on the devices of all tasks.
struct ClusterTask {
  ClusterSpec cluster;  // all tasks
  TaskName task;        // this one
};

// Address, access rules, limits and features of a server.
struct SessionServerOptions {
  DeviceRequest devices = {};                      // shared by all sessions
  std::optional<ClusterTask> cluster = {};         // unset: no cluster
  std::string host = "localhost";                  // to listen at
  int port = 2222;                                 // 0: any free one, see port()
  std::vector<std::string> insecure_clients = {};  // networks ("10.0.0.0/8") whose clients may come without certificate
  std::string tls_cert = {}, tls_key = {}, tls_ca = {};  // PEM files: our certificate and key, the CA of the clients'
  // true: every user of this machine may connect over loopback; false: this process's user and root.
  bool any_local_user = false;
  int max_connections = 0;           // in all; 0: as many as the descriptor limit allows, at most 4096
  int max_connections_per_peer = 0;  // of one address, on loopback of one user; 0: half of all

  // Limit on the bytes of incomplete requests from one client without certificate. All such clients together: twice
  // that. 0: a quarter of the host's memory.
  std::int64_t unfinished_limit_bytes = 0;
  int http_port = -1;  // /metrics, /statusz and /healthz; 0: any free one, -1: none
  // Networks whose hosts may read those pages, besides `insecure_clients`.
  std::vector<std::string> http_clients = {};
  std::chrono::seconds session_lease{0};  // sessions that had no call for so long are closed; 0: never
  // Sessions whose client's connection is over for so long are closed; 0: never. Negative: a minute on loopback, where
  // a connection ends with its process, and an hour elsewhere.
  std::chrono::seconds client_lease{-1};
  int max_sessions = 5000;  // RESOURCE_EXHAUSTED above
  // A kernel that still runs so long after the end of its step is reported in the log and on the status pages. Its
  // client gets an answer, and its session may be closed. Zero: never.
  std::chrono::milliseconds stuck_after{10000};
  bool count_work = false;  // see work(); costs about 50 ns an op
  // Runs training steps on all GPUs of their session, a shard of the batch on each, if that is possible. Sessions do
  // not share variables then: another session's write would not reach every GPU.
  bool replicate = false;
  int most_gpus = 0;             // replicated steps use at most so many GPUs, of all the cluster's tasks; 0: all
  bool sync_batch_norm = false;  // batch normalisation of replicated steps uses statistics of the global batch

  // The first `check` runs of every replicated step also run on one device from the same state. A run with another
  // result fails with INTERNAL (ARG-CHECK-001), and its variables keep their values.
  int check = 0;
  // The strategy of replicated steps. Automatic: data parallelism, but a step runs on one device if it is predicted to
  // be faster there. With `check` nothing is predicted.
  StrategySpec strategy = {};
  // The training step of the replayed plan; reports say how a client's step differs from it. Null: no plan is replayed.
  std::shared_ptr<const PlannedStep> planned = nullptr;
  // Folders whose files graphs may read and write. Empty: on a loopback address all files that this process's user may
  // use, otherwise none.
  std::vector<std::string> allow_files = {};
  // Folder of the programs under `argosy run`: of their sockets that serve py_func calls (py_func_bridge.h), and of the
  // secret of their feeds in shared memory (lent_feeds.h). Empty: this server has neither.
  std::string program_folder = {};
  std::int64_t feed_limit_bytes = 0;  // of one fed tensor; 0: a quarter of the host's memory
};

class SessionServer {
 public:
  // Starts to listen and serve. INVALID_ARGUMENT: options contradict each other. NOT_FOUND: no such device or file.
  // UNAVAILABLE: the port is taken, or the address is not this machine's.
  static Result<std::unique_ptr<SessionServer>> start(const SessionServerOptions& options);
  ~SessionServer();  // stops
  SessionServer(const SessionServer&) = delete;
  SessionServer& operator=(const SessionServer&) = delete;

  int port() const;                         // the one that was found, where 0 was asked for
  int http_port() const;                    // -1: none
  const std::string& address() const;       // "localhost:2222"
  std::vector<DeviceSpec> devices() const;  // of all sessions
  int num_sessions() const;                 // open ones
  int num_running_calls() const;            // calls that use a session now
  WorkTotals work() const;                  // so far; all zero without count_work but what was replicated and why not

  // Refuses new calls, cancels those that still run after `grace`, closes every session. Idempotent.
  void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(0));

 private:
  class Impl;
  explicit SessionServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
