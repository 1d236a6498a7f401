#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "argosy/base/system/file.h"
#include "argosy/base/system/random_source.h"
#include "argosy/cluster/job_token.h"
#include "argosy/cluster/launch/launch_plan.h"
#include "argosy/cluster/launch/scheduler_commands.h"
#include "argosy/cluster/network/host_port.h"
#include "argosy/rpc/gate/peer_filter.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/launch/launch_variables.h"
#include "tools/argosy/launch/launcher.h"
#include "tools/argosy/launch/options.h"

namespace argosy::cli {

namespace {

std::string own_program() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "argosy";
}

// The hosts that were named, by whichever flag.
Result<std::vector<HostSlots>> named_hosts(const LaunchOptions& options) {
  const int ways = static_cast<int>(!options.hosts.empty()) + static_cast<int>(!options.host_file.empty()) +
                   static_cast<int>(options.local > 0);
  if (ways > 1)
    return launch_usage("-H, --hostfile and --local each say where: one of them", "-H localhost:2 is --local 2");
  if (ways > 0 && options.nproc_per_node > 0) {
    return launch_usage("--nproc-per-node beside -H, --hostfile or --local, which say how many, too", "leave it out");
  }
  if (!options.hosts.empty()) return parse_hosts(options.hosts);
  if (!options.host_file.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string text, read_file(options.host_file, 16 << 20));
    return parse_host_file(text);
  }
  if (options.local > 0) return std::vector<HostSlots>{{"localhost", options.local}};
  if (options.nproc_per_node > 0 || options.nnodes > 0) {
    return std::vector<HostSlots>{{"localhost", std::max(options.nproc_per_node, 1)}};
  }
  if (options.np > 0) return std::vector<HostSlots>{{"localhost", options.np}};
  return launch_usage("no hosts: -H, --hostfile, --local or --nnodes says where",
                      "argosy launch --local 2 -- argosy train lenet --emulate 2");
}

Result<LaunchRequest> request_of(const LaunchOptions& options) {
  LaunchRequest request;
  ARGOSY_ASSIGN_OR_RETURN(request.hosts, named_hosts(options));
  ARGOSY_RETURN_IF_ERROR(tf::PeerFilter::parse(options.insecure_networks).status());
  const bool argosy = is_argosy(options.program[0]);
  request.per_slot = !argosy || options.local > 0;
  request.processes = options.np;
  // Below the ports that systems give out by themselves. Task 0 takes the first free one of eight.
  const std::uint64_t bits = system_random_source().next();
  request.port = options.master_port > 0 ? options.master_port : 20'000 + static_cast<int>(bits % 1'500) * 8;
  request.job = str_cat("launch ", bits >> 32);
  if (options.nnodes > 1) {  // torchrun's way: started once on every host
    if (options.master_addr.empty() || options.node_rank < 0) {
      return launch_usage("--nnodes starts the tasks of this host alone: --node-rank and --master-addr say which it is",
                          "argosy launch -H gpu-a:4,gpu-b:4 --dry-run -- argosy train lenet");
    }
    if (std::getenv("ARGOSY_JOB_TOKEN") == nullptr) {
      return launch_usage("--nnodes needs a token that every host has: ARGOSY_JOB_TOKEN is not set",
                          "export ARGOSY_JOB_TOKEN=$(openssl rand -hex 32), the same on every host");
    }
    const int here = request.per_slot ? std::max(options.nproc_per_node, 1) : 1;
    request.first_rank = options.node_rank * here;
    request.all_tasks = options.nnodes * here;
    request.coordinator_host = options.master_addr;
    if (options.master_port == 0) request.port = 29'500;
    request.job = str_cat("launch ", options.master_addr, ":", request.port);
  }
  return request;
}

Result<std::string> token_of_job() {
  const char* const given = std::getenv("ARGOSY_JOB_TOKEN");
  if (given == nullptr || *given == 0) return JobToken::draw().to_hexadecimal();
  ARGOSY_ASSIGN_OR_RETURN(const JobToken token, JobToken::parse(given));
  return token.to_hexadecimal();
}

bool is_here(const std::string& host) {
  if (host == "localhost") return true;
  const auto addresses = resolve(host);
  return addresses.ok() && std::any_of(addresses->begin(), addresses->end(), is_own_address);
}

// A task as its agent starts it. Remote hosts have this program at the same path, or where --remote-argosy says. `named`
// are the variables of -x. Agents here have this process's environment already.
LaunchedTask launched(const LaunchOptions& options, const LaunchTask& place, const EnvironmentMap& named,
                      const std::string& token) {
  const bool here = options.on != "ssh" && is_here(place.host);
  LaunchedTask task{.place = place, .task = {}, .agent = {}};
  task.task.words = options.program;
  task.task.environment = place.environment;
  task.task.environment.insert(named.begin(), named.end());
  if (!here) task.task.environment.merge(own_variables());
  task.task.environment["ARGOSY_JOB_TOKEN"] = token;
  if (options.start_timeout > 0) task.task.environment["ARGOSY_START_TIMEOUT"] = std::to_string(options.start_timeout);
  if (!options.insecure_networks.empty()) {
    task.task.environment["ARGOSY_INSECURE_CLUSTER"] = str_join(options.insecure_networks, ",");
  }
  task.task.devices = place.devices;
  char directory[4096];
  if (::getcwd(directory, sizeof directory) != nullptr) task.task.directory = directory;
  const std::string program = options.remote_argosy.empty() ? own_program() : options.remote_argosy;
  if (here) {
    task.agent = {own_program(), "launch", "--agent", "--", "task"};
  } else {
    task.agent = {"ssh", "-o", "BatchMode=yes", place.host, shell_line({program, "launch", "--agent", "--", "task"})};
  }
  return task;
}

void print_plan(const std::vector<LaunchedTask>& tasks, Console& console) {
  for (const LaunchedTask& task : tasks) {
    EnvironmentMap environment = task.task.environment;
    environment["ARGOSY_JOB_TOKEN"] = "…";
    std::string line =
        str_cat("task ", task.place.rank, "  ", task.place.host, "  ", shell_line(task.agent), "\n  run ");
    for (const auto& [name, value] : environment) line += str_cat(shell_line({str_cat(name, "=", value)}), " ");
    const auto words = task.task.words;
    line += shell_line(words);
    if (task.task.devices > 0) line += str_cat("   (", task.task.devices, " devices of that host)");
    console.print(line + "\n");
  }
}

Result<int> launch_tasks(const LaunchOptions& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const LaunchRequest request, request_of(options));
  ARGOSY_ASSIGN_OR_RETURN(const LaunchPlan plan, make_launch_plan(request));
  ARGOSY_ASSIGN_OR_RETURN(const std::string token, token_of_job());
  ARGOSY_ASSIGN_OR_RETURN(const EnvironmentMap named, named_variables(options.exported));
  std::vector<LaunchedTask> tasks;
  for (const LaunchTask& place : plan.tasks) tasks.push_back(launched(options, place, named, token));
  if (options.dry_run) return print_plan(tasks, console), kDone;
  StreamOptions streams{.directory = options.log_dir.empty() ? options.output_filename : options.log_dir,
                        .redirects = {},
                        .labels = true};
  ARGOSY_ASSIGN_OR_RETURN(streams.redirects, StreamChoice::parse("--redirects", options.redirects));
  ARGOSY_ASSIGN_OR_RETURN(const StreamChoice tee, StreamChoice::parse("--tee", options.tee));
  if (streams.directory.empty() && (!options.redirects.empty() || !options.tee.empty())) {
    return launch_usage("--redirects and --tee choose what goes to files: --log-dir says where they are",
                        "--log-dir logs");
  }
  for (const LaunchedTask& task : tasks) {  // what goes to both is not redirected
    const int rank = task.place.rank;
    streams.redirects.of_task[rank] = streams.redirects.of(rank) & ~tee.of(rank);
  }
  ARGOSY_ASSIGN_OR_RETURN(const LaunchEnd end, run_tasks(tasks, streams));
  if (!end.cause.ok()) console.error(end.cause, "argosy launch");
  return end.exit;
}

Result<int> run(LaunchOptions& options, Console& console) {
  if (options.agent) return run_agent();
  constexpr std::string_view kStarters[] = {"auto", "ssh", "slurm", "mpi", "kubernetes"};
  if (std::find(std::begin(kStarters), std::end(kStarters), options.on) == std::end(kStarters)) {
    return launch_usage(str_cat("--on: \"", options.on, "\" is none of ", str_join(kStarters)),
                        "argosy launch --on slurm --nnodes 2 --dry-run -- argosy train lenet");
  }
  if (options.on == "slurm" || options.on == "mpi" || options.on == "kubernetes")
    return launch_elsewhere(options, console);
  return launch_tasks(options, console);
}

}  // namespace

void define_launch(Command& program) {
  Command& command = program.add("launch", "Start a program as the tasks of one job, on this and other hosts");
  auto& options = command.own<LaunchOptions>();
  command.group("Where")
      .option("-H,--hosts LIST", options.hosts, "hosts and their slots: gpu-a:4,gpu-b:4; others than this one by ssh")
      .option("--hostfile FILE", options.host_file, "a host a line: gpu-a slots=4")
      .option("--local N", options.local, "N tasks on this host", {.least = 1, .most = 4096})
      .option("-n,--np N", options.np, "use only so many of the slots", {.least = 1, .most = 1 << 20})
      .option("--on NAME", options.on,
              "who starts them: auto (ssh for other hosts), ssh even for this one, slurm, mpi, kubernetes")
      .option("--dry-run", options.dry_run, "print what would be started, and start nothing");
  command.group("As torchrun has them")
      .option("--nnodes N", options.nnodes, "number of hosts, when this command is typed on each of them",
              {.least = 1, .most = 65536})
      .option("--nproc-per-node N", options.nproc_per_node, "slots of each host", {.least = 1, .most = 4096})
      .option("--node-rank N", options.node_rank, "which of the hosts this is, from 0", {.least = 0, .most = 65535})
      .option("--master-addr HOST", options.master_addr, "the host of task 0")
      .option("--master-port N", options.master_port, "where task 0 listens; the seven after it are tried, too",
              {.least = 1, .most = 65535});
  command.group("Output")
      .option("--log-dir DIR", options.log_dir, "keep DIR/task-N/stdout, stderr and, after a failure, error.json")
      .option("--output-filename DIR", options.output_filename, "the same; horovodrun's word")
      .option("--redirects S", options.redirects,
              "streams that go to files alone: 1 stdout, 2 stderr, 3 both; 0:1,1:3 by task")
      .option("--tee S", options.tee, "streams that go to files and to the console, in the same words");
  command.group("Options")
      .option("--start-timeout S", options.start_timeout, "seconds until all tasks must be there (default: 300)",
              {.least = 1, .most = 86400})
      .option("--insecure-cluster NET", options.insecure_networks,
              "a network (10.0.0.0/8) whose tasks are let in without certificate; may be repeated")
      .option("-x,--export NAME", options.exported,
              "a variable for every task: NAME as it is here, or NAME=VALUE; may be repeated")
      .option("--remote-argosy PATH", options.remote_argosy, "this program on the other hosts (default: the same path)")
      .option("--name NAME", options.name, "of the job, for kubernetes")
      .option("--image IMAGE", options.image, "the container that holds the program, for kubernetes")
      .option("--agent", options.agent, "run one task, told on standard input: what launch starts on each host");
  command
      .argument("PROGRAM", options.program, "the program and its arguments; what follows its name is its own",
                {.may_be_empty = true})
      .about(
          "Of argosy one process a host is started, whose devices are the slots: --gpus N where the host has them, "
          "else "
          "--emulate N. Of any other program one a slot, with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT "
          "and TF_CONFIG set. Variables ARGOSY_* of this host, and those of -x, are set on every host. Standard output "
          "is that of task 0 alone; everything else goes to standard error, with "
          "the "
          "task before each line. Signals are passed on. When a task fails the others end, and one cause is told. "
          "Exit code: that of the task which failed first; 3 where ssh does not reach its host; 5 where a signal ended "
          "it; 75 when interrupted tasks "
          "wrote a checkpoint.")
      .example("argosy launch --local 2 -- argosy train lenet --emulate 2", "two tasks on this host")
      .example("argosy launch -H gpu-a:4,gpu-b:4 --insecure-cluster 10.0.0.0/8 -- argosy train resnet",
               "two hosts, by ssh")
      .example("argosy launch -H gpu-a:4,gpu-b:4 --dry-run -- python train.py", "what would be started")
      .example("argosy launch --on slurm --nnodes 4 --nproc-per-node 8 -- argosy train resnet", "four nodes of Slurm's")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
