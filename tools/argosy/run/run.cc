// argosy run: a session server in this process, the user's program in a child. The child's Python finds
// run/hook/sitecustomize.py first.
#include "argosy/tf/server/transport/session_server.h"

#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "argosy/base/clock.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/error_file.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/run/run_child.h"
#include "tools/argosy/run/run_cluster.h"
#include "tools/argosy/run/run_hook.h"
#include "tools/argosy/run/run_strategy.h"
#include "tools/argosy/run/run_verdict.h"
#include "tools/argosy/serve/serve_access.h"
#include "tools/argosy/serve/serve_heap.h"
#include "tools/argosy/serve/serve_replicate.h"

namespace argosy::cli {

namespace {

struct Options {
  DeviceRequest devices;
  ClusterFlags cluster;
  AccessFlags access;
  std::string replicate;
  bool sync_batch_norm = false;
  int check = 0;
  RunStrategy strategy;
  std::vector<std::string> program;
};

// Steps that do not end (a kernel that never does) are not waited for longer than this.
constexpr std::chrono::seconds kLongestStop{5};

// False: stopping goes on in another thread, and this process must end without destructors.
bool stopped_in_time(tf::SessionServer& server) {
  std::promise<void> over;
  std::future<void> ended = over.get_future();
  std::thread([&server, over = std::move(over)]() mutable {
    server.stop();
    over.set_value();
  }).detach();
  return ended.wait_for(kLongestStop) == std::future_status::ready;
}

// How steps run and who may connect, as the servers of the script's tasks are told.
std::vector<std::string> serve_flags(const Options& options) {
  std::vector<std::string> flags = access_words(options.access);
  const auto add = [&](const char* flag, const std::string& value) { flags.insert(flags.end(), {flag, value}); };
  if (!options.replicate.empty()) add("--replicate", options.replicate);
  // A server that a program starts may have another folder.
  const std::string& file = options.strategy.spec.file;
  if (!file.empty()) {
    add("--strategy", "@" + std::filesystem::absolute(file).string());
  } else if (options.strategy.given) {
    add("--strategy", show_value(options.strategy));
  }
  if (options.sync_batch_norm) flags.push_back("--sync-batch-norm");
  if (options.check > 0) add("--check", std::to_string(options.check));
  for (const std::string& network : options.cluster.insecure) add("--insecure-cluster", network);
  return flags;
}

Result<int> run(const Options& options, Console& console) {
  tune_server_heap();
  tf::SessionServerOptions wanted{.devices = options.devices,
                                  .host = "127.0.0.1",
                                  .port = 0,
                                  .count_work = true,
                                  .sync_batch_norm = options.sync_batch_norm,
                                  .check = options.check};
  ARGOSY_RETURN_IF_ERROR(read_replicate(options.replicate, wanted));
  ARGOSY_RETURN_IF_ERROR(set_access(options.access, wanted));
  ARGOSY_ASSIGN_OR_RETURN(const RunHook hook, RunHook::write());
  wanted.program_folder = hook.folder();
  ARGOSY_ASSIGN_OR_RETURN(const auto task, task_of_run(options.cluster));
  if (task) {
    ARGOSY_RETURN_IF_ERROR(listen_as(*task, -1, "", options.cluster, wanted));
  } else {
    wanted.tls_cert = wanted.tls_key = wanted.tls_ca = "";  // on loopback, for the script alone
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::string strategy, set_strategy(options.strategy, wanted));
  auto started = tf::SessionServer::start(wanted);
  if (!started.ok()) {
    if (started.status().code() != Code::kUnavailable) return std::move(started).status();
    console.error(started.status(), "argosy run");  // a port that is taken is no peer that is gone
    write_error_file(started.status(), "argosy run");
    return kMissing;
  }
  const std::unique_ptr<tf::SessionServer> server = *std::move(started);
  if (!strategy.empty()) console.note(strategy);
  if (const std::string files = files_note(wanted); !files.empty()) console.note(files);
  const std::int64_t start = now_nanos();
  ARGOSY_ASSIGN_OR_RETURN(
      const int code,
      run_child(options.program, hook.environment("grpc://" + server->address(),
                                                  server_environment(task, options.devices, serve_flags(options)))));
  const double seconds = static_cast<double>(now_nanos() - start) * 1e-9;
  const bool stopped = stopped_in_time(*server);
  const RunReport report{.totals = server->work(),
                         .replicate = wanted.replicate,
                         .seconds = seconds,
                         .exit_code = code,
                         .own_task = task ? str_cat("/job:", task->task.job, "/task:", task->task.task) : "",
                         .served = hook.served()};
  if (console.json()) {
    console.print(run_verdict_json(report));
  } else {
    console.note(run_verdict(report));
    if (const auto used = chosen_devices(wanted.devices); used.ok()) {
      if (const std::string numbers = machine_numbers(*used); !numbers.empty()) console.note(numbers);
    }
  }
  // A program may go on after a step that failed.
  const int end = code == kDone && report.totals.differing_steps > 0 ? kFailed : code;
  if (stopped) return end;
  console.note(str_cat("steps did not end in ", kLongestStop.count(), " s after the program: stopping at once"));
  ARGOSY_RETURN_IF_ERROR(console.flush());
  hook.remove();
  std::_Exit(end);
}

}  // namespace

void define_run(Command& program) {
  Command& command = program.add("run", "Run a TensorFlow 1.x program on these devices, as it is");
  auto& options = command.own<Options>();
  add_replicate_flag(command, options.replicate);
  command.option("--strategy S", options.strategy, kRunStrategyHelp);
  command.option("--sync-batch-norm", options.sync_batch_norm,
                 "of replicated steps: batch normalisation by the global batch, not by each GPU's shard; slower");
  command.option("--check N", options.check,
                 "of replicated steps: the first N of each also run on one device from the same state; one that gives "
                 "anything else fails",
                 {.least = 0, .most = 1e9, .implied = "3"});
  add_device_flags(command, options.devices);
  add_cluster_flags(command, options.cluster);
  add_access_flags(command, options.access);
  command.json("print what the devices did as one line of JSON, the last on stdout (keys: docs/tensorflow.md)");
  command
      .argument("PROGRAM", options.program, "the program and its arguments; what follows its name is its own",
                {.may_be_empty = true})
      .about(
          "Sessions that the program opens without a target of their own (tf.Session, MonitoredTrainingSession, "
          "Supervisor, Keras in graph mode) run here; on a TensorFlow 2 wheel, files written for 1.x find it under its "
          "name. Signals and the exit code are passed on; 10 s after the first SIGINT or SIGTERM, or at the second, "
          "the program and all that it started are killed; nothing in the environment is changed. Ends with what the "
          "devices did.")
      .example("argosy run --emulate 2 -- python train.py --epochs 3", "a script on two emulated GPUs")
      .example("argosy run --gpus 4 -- python train.py", "on the first four GPUs")
      .example("argosy run --cluster @cluster.json --job worker --task 0 -- python train.py",
               "a script with tf.train.Server, as one task of its cluster")
      .example("argosy run --insecure-cluster 10.0.0.0/8 --allow-files /data -- python train.py",
               "a script with tf.train.Server on several hosts of a network that you trust")
      .example("argosy run --gpus 4 --replicate --check -- python train.py", "the first steps beside one GPU's")
      .example("argosy run --gpus 4 --json -- python train.py | tail -1", "what the devices did, for programs")
      .example("argosy run --gpus 4 --replicate -- python train.py",
               "a script for one GPU, its batches sharded over four")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
