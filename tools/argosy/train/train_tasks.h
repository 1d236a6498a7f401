// `argosy train` as one task of a job: joins the job, takes its share of the host's cores, and reports all tasks.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "argosy/cluster/job_place.h"
#include "argosy/cluster/job_tasks.h"
#include "argosy/device/device.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// This process's rank and job, from its environment. Limits the process to its share of the cores if several tasks are
// on the host; so call it before threads start.
Result<JobPlace> take_place();
// A usage error for flags of several tasks where no launcher started this process.
Status refuse_task_flags(const JobPlace& place, const TrainChoices& choices);

// Null for a job of one. Waits for all tasks. UNIMPLEMENTED ARG-CLUSTER-062: what several tasks cannot do.
Result<std::unique_ptr<JobTasks>> join_training(const JobPlace& place, const TrainChoices& choices, Console& console);

// [{"task": 0, "host": …, "devices": […]}]. `devices`: of all tasks, as Trainer::devices() has them.
nlohmann::ordered_json tasks_json(const JobTasks& job, const std::vector<DeviceSpec>& devices);
// "task 0 (gpu-a): gpu:0, gpu:1; task 1 (gpu-b): gpu:0, gpu:1"
std::string tasks_text(const JobTasks& job, const std::vector<DeviceSpec>& devices);

}  // namespace argosy::cli
