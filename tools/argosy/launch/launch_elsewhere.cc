#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "argosy/base/system/file.h"
#include "argosy/cluster/job_token.h"
#include "argosy/cluster/launch/scheduler_commands.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/launch/agent.h"
#include "tools/argosy/launch/launch_variables.h"
#include "tools/argosy/launch/options.h"

namespace argosy::cli {

namespace {

// Open MPI or one of MPICH's family, by its own words.
MpiKind mpi_here() {
  std::FILE* const pipe = ::popen("mpirun --version 2>/dev/null", "r");
  if (pipe == nullptr) return MpiKind::kOpenMpi;
  std::array<char, 512> text{};
  const std::size_t n = std::fread(text.data(), 1, text.size() - 1, pipe);
  (void)::pclose(pipe);
  return std::string_view(text.data(), n).find("HYDRA") != std::string_view::npos ? MpiKind::kHydra : MpiKind::kOpenMpi;
}

// What the scheduler's command would not be told.
Status check_scheduler_gets_all(const LaunchOptions& options, const SchedulerJob& job) {
  const std::string how = str_cat("argosy launch --on ", options.on, " --dry-run prints its command, to add to it");
  const std::pair<const char*, bool> of_our_own[] = {
      {"--log-dir", !options.log_dir.empty()},     {"--output-filename", !options.output_filename.empty()},
      {"--redirects", !options.redirects.empty()}, {"--tee", !options.tee.empty()},
      {"--node-rank", options.node_rank >= 0},     {"--master-addr", !options.master_addr.empty()}};
  for (const auto& [name, given] : of_our_own) {
    if (given)
      return launch_usage(str_cat(name, " is of tasks that argosy launch starts itself, not of --on ", options.on),
                          how);
  }
  const bool uneven = std::any_of(job.hosts.begin(), job.hosts.end(),
                                  [&](const HostSlots& h) { return h.slots != job.hosts[0].slots; });
  if (uneven)
    return launch_usage(str_cat("--on ", options.on, " starts as many on each host, and their slots differ"), how);
  const int tasks = job.nodes * job.tasks_of_node;
  if (options.np > 0 && options.np != tasks) {
    return launch_usage(
        str_cat("-np ", options.np, " beside ", job.nodes, " hosts of ", job.tasks_of_node, ": ", tasks, " tasks"),
        how);
  }
  if (options.on == "mpi" && job.devices_of_node > 1) {
    return launch_usage(str_cat("slots of argosy are devices, and mpirun tells no task its number of devices"),
                        "-H a,b, and --gpus or --emulate behind the subcommand");
  }
  return ok_status();
}

Result<SchedulerJob> job_of(const LaunchOptions& options) {
  SchedulerJob job{.program = options.program, .name = options.name, .image = options.image};
  if (!options.hosts.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(job.hosts, parse_hosts(options.hosts));
  } else if (!options.host_file.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string text, read_file(options.host_file, 16 << 20));
    ARGOSY_ASSIGN_OR_RETURN(job.hosts, parse_host_file(text));
  }
  const bool argosy = is_argosy(options.program[0]);
  int slots = options.nproc_per_node;
  if (slots == 0 && !job.hosts.empty()) slots = job.hosts[0].slots;
  job.nodes = job.hosts.empty() ? std::max(options.nnodes, 1) : static_cast<int>(job.hosts.size());
  job.tasks_of_node = argosy ? 1 : std::max(slots, 1);
  job.devices_of_node = argosy ? slots : 0;
  if (options.local > 0) job.tasks_of_node = options.local;
  if (options.np > 0 && job.hosts.empty() && options.nnodes == 0) job.tasks_of_node = options.np;
  if (options.master_port > 0) job.port = options.master_port;
  const char* const given = std::getenv("ARGOSY_JOB_TOKEN");
  ARGOSY_ASSIGN_OR_RETURN(const JobToken token, JobToken::parse(given != nullptr ? given : ""));
  job.token = token.none() ? JobToken::draw().to_hexadecimal() : token.to_hexadecimal();
  job.passed_on = {"ARGOSY_JOB_TOKEN"};
  return job;
}

void set(SchedulerJob& job, const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);
  job.passed_on.emplace_back(name);
}

}  // namespace

Result<int> launch_elsewhere(const LaunchOptions& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(SchedulerJob job, job_of(options));
  ARGOSY_RETURN_IF_ERROR(check_scheduler_gets_all(options, job));
  ARGOSY_ASSIGN_OR_RETURN(job.variables, named_variables(options.exported));
  if (options.on == "kubernetes") {
    ARGOSY_ASSIGN_OR_RETURN(const std::string manifest, kubernetes_manifest(job));
    return console.print(manifest), kDone;
  }
  // By the environment: it would stand on the command line for everybody to see.
  ::setenv("ARGOSY_JOB_TOKEN", job.token.c_str(), 1);
  for (const auto& [name, value] : job.variables) set(job, name.c_str(), value);
  for (const auto& [name, value] : own_variables()) {
    if (!job.variables.contains(name)) job.passed_on.push_back(name);
  }
  if (!options.insecure_networks.empty()) set(job, "ARGOSY_INSECURE_CLUSTER", str_join(options.insecure_networks, ","));
  if (options.start_timeout > 0) set(job, "ARGOSY_START_TIMEOUT", std::to_string(options.start_timeout));
  if (options.on == "mpi" && job.hosts.size() > 1) {
    set(job, "ARGOSY_COORDINATOR", str_cat(job.hosts[0].host, ":", job.port));
  }
  const std::vector<std::string> words =
      options.on == "slurm" ? srun_command(job) : mpirun_command(job, mpi_here(), ::geteuid() == 0);
  if (options.dry_run) return console.print(shell_line(words) + "\n"), kDone;
  ARGOSY_RETURN_IF_ERROR(console.flush());
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  return not_found("\"", words[0], "\" could not be started: ", std::strerror(errno))
      .with_id("ARG-CLUSTER-053")
      .with_where("argosy launch")
      .with_hint(str_cat("argosy launch --on ", options.on, " --dry-run prints what to type where it is installed"));
}

}  // namespace argosy::cli
