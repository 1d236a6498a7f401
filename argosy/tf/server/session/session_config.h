// SessionConfig: a client's ConfigProto in our terms. TensorFlow's servers ignore half of its fields. Here each field
// that users set has its effect, on their session alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::tf {

struct SessionConfig {
  // Devices. The server's GPUs that this session sees, as its GPU:0, GPU:1, …; unset: all of them.
  std::optional<std::vector<int>> visible_gpus;
  int max_gpus = -1;      // device_count["GPU"]; -1: not said
  int max_cpus = -1;      // device_count["CPU"]
  double gpu_memory = 0;  // share of each GPU's memory this session may take; 0: all of it
  int cpu_threads = 0;    // intra_op_parallelism_threads; 0: the server's
  bool soft_placement = false;
  bool log_placement = false;
  bool isolate_state = false;
  bool asked_to_isolate = false;  // by the client itself
  bool optimize = true;           // optimizer_options.opt_level L0 switches it off
  bool partition_graphs = true;
  std::vector<std::string> device_filters = {};  // "/job:ps": the other tasks that the session uses; empty: all
  std::string collective_leader = {};            // experimental.collective_group_leader; "": not said
  std::string cluster_def = {};                  // serialised: the session's cluster, instead of the server's; "": none
  std::chrono::milliseconds timeout{0};          // operation_timeout_in_ms: of every call

  // The devices of the server are taken as they are.
  bool plain_devices() const {
    return !visible_gpus && max_gpus < 0 && max_cpus < 0 && gpu_memory == 0 && cpu_threads == 0;
  }
};

// From a serialised ConfigProto. INVALID_ARGUMENT: damaged, or a field that contradicts itself or that TensorFlow's
// servers refuse. `num_gpus`: how many the server has.
Result<SessionConfig> read_config(std::string_view serialized, int num_gpus);

}  // namespace argosy::tf
