#include "argosy/cluster/job_status.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "argosy/cluster/job_file.h"
#include "argosy/cluster/network/host_port.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/error_json.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/progress.h"
#include "tools/argosy/cli/table.h"

namespace argosy::cli {

namespace {

struct Options {
  std::string address;
};

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", value);
  return value < 0 ? "never" : text;
}

nlohmann::ordered_json status_json(const JobStatus& job) {
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (const TaskReport& report : job.tasks) {
    tasks.push_back({{"task", report.task.rank},
                     {"host", report.task.host},
                     {"address", report.task.address},
                     {"incarnation", report.task.incarnation},
                     {"devices", report.task.devices},
                     {"state", report.state},
                     {"step", report.step},
                     {"doing", report.doing},
                     {"barrier", report.barrier},
                     {"unchanged_seconds", report.unchanged_seconds},
                     {"heard_seconds", report.heard_seconds}});
  }
  nlohmann::ordered_json document = {{"schema_version", 1}, {"job", job.job},     {"version", job.version},
                                     {"size", job.size},    {"ready", job.ready}, {"age_seconds", job.age_seconds},
                                     {"waits", job.waits},  {"tasks", tasks}};
  if (!job.cause.ok()) document["error"] = error_json(job.cause, "argosy status");
  return document;
}

std::string status_text(const JobStatus& job, const std::string& address) {
  std::vector<std::vector<std::string>> rows = {{"task", "host", "devices", "state", "step", "doing", "for", "heard"}};
  for (const TaskReport& report : job.tasks) {
    const std::string doing = report.barrier.empty() ? report.doing : str_cat("barrier ", report.barrier);
    rows.push_back({std::to_string(report.task.rank), report.task.host, str_join(report.task.devices, " "),
                    report.state, std::to_string(report.step), doing, seconds(report.unchanged_seconds),
                    seconds(report.heard_seconds)});
  }
  std::string text = str_cat("job at ", address, ", ", job.size, " tasks, argosy ", job.version, ", ",
                             job.ready ? "running" : "waiting for its tasks", " for ", format_duration(job.age_seconds),
                             "\n", format_table(rows));
  if (!job.waits.empty()) text += str_cat(job.waits, "\n");
  if (!job.cause.ok()) text += str_cat("ended: ", job.cause.message(), "\n");
  return text;
}

Result<int> run(const Options& options, Console& console) {
  setenv("GRPC_VERBOSITY", "NONE", 0);
  auto to = HostPort::parse(options.address);
  if (!to.ok()) return std::move(to).status().with_where("argosy status");
  const char* const given = std::getenv("ARGOSY_JOB_TOKEN");
  ARGOSY_ASSIGN_OR_RETURN(JobToken token, JobToken::parse(given != nullptr ? given : ""));
  if (token.none()) token = JobFile::find(to->port);
  ARGOSY_ASSIGN_OR_RETURN(const JobStatus job, ask_status(options.address, token));
  const auto handler = nlohmann::ordered_json::error_handler_t::replace;
  console.print(console.json() ? status_json(job).dump(2, ' ', false, handler) + "\n"
                               : status_text(job, options.address));
  return kDone;
}

}  // namespace

void define_status(Command& program) {
  Command& command = program.add("status", "What the tasks of a running job do, and who waits for whom");
  auto& options = command.own<Options>();
  command.argument("HOST:PORT", options.address, "where task 0 of the job listens")
      .json()
      .about(
          "On the host of task 0 the job's own user needs no more; elsewhere ARGOSY_JOB_TOKEN must be the job's. "
          "Exit code 3: no job answers there.")
      .example("argosy status gpu-a:29500", "a row for each task")
      .example("argosy status gpu-a:29500 --json", "the same for programs")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
