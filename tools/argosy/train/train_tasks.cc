#include "tools/argosy/train/train_tasks.h"

#include <sched.h>

#include <nlohmann/json.hpp>

#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/join_job.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/version.h"

namespace argosy::cli {

namespace {

// A contiguous part of the cores that this process may run on; nothing where there are fewer cores than tasks.
void take_own_cores(const JobPlace& place) {
  cpu_set_t all, own;
  CPU_ZERO(&own);
  if (place.local_size < 2 || sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int cores = CPU_COUNT(&all);
  if (cores < place.local_size) return;
  const int begin = cores * place.local_rank / place.local_size,
            end = cores * (place.local_rank + 1) / place.local_size;
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    if (seen >= begin && seen < end) CPU_SET(core, &own);
    ++seen;
  }
  // Where it is not allowed the tasks share all cores, and are slower.
  (void)sched_setaffinity(0, sizeof own, &own);
}

std::string device_list(const std::vector<DeviceSpec>& devices, int task) {
  std::vector<std::string> names;
  for (const DeviceSpec& d : devices) {
    if (d.name.task == task) names.push_back(d.name.short_string());
  }
  return str_join(names);
}

}  // namespace

Result<JobPlace> take_place() {
  ARGOSY_ASSIGN_OR_RETURN(JobPlace place, find_place(process_environment(), {}));
  take_own_cores(place);
  return place;
}

Status refuse_task_flags(const JobPlace& place, const TrainChoices& choices) {
  if (choices.stuck_after < 0 || !place.source.empty()) return ok_status();
  return invalid_argument("--stuck-after does nothing without a launcher: there is one task")
      .with_id(kUsageId)
      .with_where("--stuck-after")
      .with_hint("leave it out: it is for the tasks of a job, which argosy launch starts");
}

Result<std::unique_ptr<JobTasks>> join_training(const JobPlace& place, const TrainChoices& c, Console& console) {
  if (place.size == 1) return std::unique_ptr<JobTasks>();
  const auto refuse = [](std::string_view what, std::string_view flag, std::string_view instead) {
    return unimplemented(what, " over several tasks")
        .with_id("ARG-CLUSTER-062")
        .with_where(std::string(flag))
        .with_hint(std::string(instead));
  };
  if (c.model == "ensemble") return refuse("ensembles", "MODEL", "argosy train ensemble on one host");
  if (c.strategy.automatic || !c.strategy.file.empty()) {
    return refuse("a planned strategy", "--strategy", "--strategy dp, or dp,accumulate=2, or dp,zero=1");
  }
  std::vector<std::string> devices;
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> chosen, chosen_devices(c.request));
  for (const DeviceSpec& d : chosen) devices.push_back(d.request_name());
  ARGOSY_ASSIGN_OR_RETURN(
      std::unique_ptr<JobTasks> job,
      join_job({.place = place,
                .devices = devices,
                .version = build_info().version,
                // What training itself compares (argosy/train/tasks) is more; this is refused before anybody waits.
                .program = {{"command", "train"},
                            {"MODEL", c.model},
                            {"--batch", str_cat(c.batch)},
                            {"--steps", str_cat(c.steps)},
                            {"--epochs", str_cat(c.epochs)},
                            {"--seed", str_cat(c.seed)},
                            {"--strategy", c.strategy.to_string()},
                            {"--precision", c.precision}},
                .stuck_after = std::chrono::seconds(c.stuck_after),
                .note = [&console](std::string_view line) { console.note(line); }}));
  if (place.rank == 0) console.note(describe(place));
  return job;
}

nlohmann::ordered_json tasks_json(const JobTasks& job, const std::vector<DeviceSpec>& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const JobTask& task : job.tasks()) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const DeviceSpec& d : devices) {
      if (d.name.task == task.rank) names.push_back(d.name.short_string());
    }
    list.push_back({{"task", task.rank}, {"host", task.host}, {"devices", names}});
  }
  return list;
}

std::string tasks_text(const JobTasks& job, const std::vector<DeviceSpec>& devices) {
  std::vector<std::string> texts;
  for (const JobTask& task : job.tasks()) {
    texts.push_back(str_cat("task ", task.rank, " (", task.host, "): ", device_list(devices, task.rank)));
  }
  return str_join(texts, "; ");
}

}  // namespace argosy::cli
