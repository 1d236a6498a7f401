#include "argosy/tf/server/transport/session_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "argosy/base/log_style.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/interrupt.h"
#include "tools/argosy/run/run_strategy.h"
#include "tools/argosy/serve/serve_access.h"
#include "tools/argosy/serve/serve_cluster.h"
#include "tools/argosy/serve/serve_heap.h"
#include "tools/argosy/serve/serve_replicate.h"

namespace argosy::cli {

namespace {

constexpr std::chrono::milliseconds kGrace{5000};
constexpr std::chrono::seconds kLongestStop{10};  // from the first signal to the end, whatever the steps do

struct Options {
  tf::SessionServerOptions server;
  ClusterFlags cluster;
  AccessFlags access;
  std::string replicate;
  RunStrategy strategy;
  int port = -1;     // -1: not said
  std::string host;  // "": not said
  std::int64_t lease = 0, client_lease = -1, unfinished_mib = 0, stuck_after = 10;
};

// Every client has one or more; nothing here is bound to the small numbers that the soft limit is for.
void more_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// SIGHUP is SIGTERM from now on, unless it is ignored (nohup). REQUIRES: an Interrupt lives.
void end_on_hangup() {
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = [](int) { ::raise(SIGTERM); };
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGHUP, &action, nullptr);
}

std::string ready_line(const tf::SessionServer& server, Console& console) {
  if (!console.json()) {
    std::vector<std::string> names;
    for (const DeviceSpec& spec : server.devices()) names.push_back(spec.name.short_string());
    const std::string http = server.http_port() < 0 ? "" : str_cat(", http port ", server.http_port());
    return str_cat("serving grpc://", server.address(), " (", str_join(names), ")", http, "\n");
  }
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceSpec& spec : server.devices()) {
    devices.push_back({{"name", spec.name.to_string()},
                       {"kind", device_kind_name(spec.kind)},
                       {"description", spec.description},
                       {"memory_limit_bytes", spec.memory_limit_bytes}});
  }
  return nlohmann::ordered_json{{"schema_version", 1},   {"target", "grpc://" + server.address()},
                                {"port", server.port()}, {"http_port", server.http_port()},
                                {"pid", getpid()},       {"devices", devices}}
             .dump() +
         "\n";
}

Result<int> run(Options& options, Console& console) {
  // gRPC's own log says the same as our errors, in other words.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  set_log_style(LogStyle::kLog);
  tune_server_heap();
  options.server.session_lease = std::chrono::seconds(options.lease);
  options.server.client_lease = std::chrono::seconds(options.client_lease);
  options.server.unfinished_limit_bytes = options.unfinished_mib << 20;
  options.server.stuck_after = std::chrono::seconds(options.stuck_after);
  ARGOSY_RETURN_IF_ERROR(read_replicate(options.replicate, options.server));
  ARGOSY_RETURN_IF_ERROR(set_access(options.access, options.server));
  // Of a program under `argosy run` whose tf.train.Server this is.
  if (const char* const folder = std::getenv("ARGOSY_PY_FUNC_FOLDER"); folder != nullptr) {
    options.server.program_folder = folder;
  }
  if (options.port >= 0) options.server.port = options.port;
  if (!options.host.empty()) options.server.host = options.host;
  ARGOSY_ASSIGN_OR_RETURN(const auto task, cluster_task(options.cluster));
  if (task) ARGOSY_RETURN_IF_ERROR(listen_as(*task, options.port, options.host, options.cluster, options.server));
  ARGOSY_ASSIGN_OR_RETURN(const std::string strategy, set_strategy(options.strategy, options.server));
  if (!strategy.empty()) console.note(strategy);
  if (const std::string files = files_note(options.server); task && !files.empty()) console.note(files);
  more_descriptors();
  Interrupt interrupt("closing the sessions; once more to stop at once");
  end_on_hangup();
  auto server = tf::SessionServer::start(options.server);
  if (!server.ok()) {
    if (server.status().code() != Code::kUnavailable) return std::move(server).status();
    console.error(server.status(), "argosy serve");
    return kMissing;
  }
  console.print(ready_line(**server, console));
  ARGOSY_RETURN_IF_ERROR(console.flush());
  while (!interrupt.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // A kernel that never ends is not waited for.
  std::thread([] {
    std::this_thread::sleep_for(kLongestStop);
    std::fputs("argosy serve: a step, or a thread of gRPC, did not end in 10 s after the signal: stopping at once\n",
               stderr);
    std::_Exit(kFailed);
  }).detach();
  (*server)->stop(kGrace);
  return kDone;
}

}  // namespace

void define_serve(Command& program) {
  Command& serve = program.add("serve", "A TensorFlow session server: tf.Session(\"grpc://localhost:2222\") runs here");
  auto& options = serve.own<Options>();
  tf::SessionServerOptions& server = options.server;
  serve
      .option("--port N", options.port, "where to listen; 0: any free port; default 2222, or the cluster's",
              {.least = 0, .most = 65535})
      .option("--host H", options.host, "address to listen at; default localhost, or the cluster's");
  add_cluster_flags(serve, options.cluster);
  add_device_flags(serve, server.devices);
  add_replicate_flag(serve, options.replicate);
  serve.option("--strategy S", options.strategy, kRunStrategyHelp)
      .option("--sync-batch-norm", server.sync_batch_norm,
              "of replicated steps: batch normalisation by the global batch, not by each GPU's shard; slower")
      .option("--check N", server.check,
              "of replicated steps: the first N of each also run on one device from the same state; one that gives "
              "anything else fails",
              {.least = 0, .most = 1e9, .implied = "3"})
      .option("--insecure-tf-clients NET", server.insecure_clients,
              "a network (10.0.0.0/8) whose clients are let in without certificate; may be repeated");
  add_access_flags(serve, options.access);
  serve
      .option("--http-port N", server.http_port,
              "also serve /metrics, /statusz and /healthz there; 0: any free port; default: off",
              {.least = -1, .most = 65535})
      .option("--http-clients NET", server.http_clients,
              "a network whose hosts may read these pages; may be repeated (default: as clients without certificate)")
      .option(
          "--client-lease S", options.client_lease,
          "close sessions whose client's connection is over for S seconds; 0: never (default: 60 on localhost, else "
          "3600)",
          {.least = 0, .most = 1e9})
      .option("--session-lease S", options.lease, "close sessions without a call for S seconds; 0: never",
              {.least = 0, .most = 1e9})
      .option("--stuck-after S", options.stuck_after,
              "name kernels that do not end S seconds after their step was to, and answer their clients; 0: never",
              {.least = 0, .most = 1e9})
      .option("--max-sessions N", server.max_sessions, "refuse more sessions at once", {.least = 1, .most = 1e6})
      .option("--max-connections N", server.max_connections,
              "refuse more connections at once (default: as many as descriptors allow, 4096 at most)",
              {.least = 1, .most = 1e6})
      .option("--max-connections-per-peer N", server.max_connections_per_peer,
              "likewise of one host, on localhost of one user (default: half of all)", {.least = 1, .most = 1e6})
      .option("--max-unfinished-mib N", options.unfinished_mib,
              "memory for requests of one host without certificate that are not complete; twice that for all of them "
              "(default: a quarter of this machine's)",
              {.least = 1, .most = 1e7})
      .json("print one line of JSON when ready")
      .example("argosy serve", "then: tf.compat.v1.Session(\"grpc://localhost:2222\")")
      .example("argosy serve --port 0 --emulate 4 --json", "four emulated GPUs, any free port, told as JSON")
      .example("argosy serve --cluster @cluster.json --job ps --task 0", "one task of a TensorFlow cluster")
      .example("argosy serve --host 0.0.0.0 --insecure-tf-clients 10.0.0.0/8", "for stock clients of a trusted network")
      .about(
          "Prints one line when it is ready. The first Ctrl-C, SIGTERM, SIGHUP (its terminal closes) or SIGUSR1 (a "
          "scheduler's notice) ends the steps under way and closes the sessions; the exit code is 0. A second one, but "
          "for SIGUSR1, stops at once. Devices are /job:localhost/replica:0/task:0/device:CPU:0, GPU:0 and so on; in a "
          "cluster "
          "/job:J/replica:0/task:N/device:CPU:0.")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
