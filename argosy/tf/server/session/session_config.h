// SessionConfig: a client's ConfigProto as a struct. TensorFlow's servers ignore half of its fields. Here each field
// that users set takes effect, for their session only.
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
  // The indices of the server's GPUs that are this session's GPU:0, GPU:1, …; unset: all of them.
  std::optional<std::vector<int>> visible_gpus;
  int max_gpus = -1;      // device_count["GPU"]; -1: not set
  int max_cpus = -1;      // device_count["CPU"]; -1: not set
  double gpu_memory = 0;  // fraction of each GPU's memory that this session may use; 0: all of it
  int cpu_threads = 0;    // intra_op_parallelism_threads; 0: the server's
  bool soft_placement = false;
  bool log_placement = false;
  bool isolate_state = false;
  bool asked_to_isolate = false;  // the client itself set isolate_session_state
  bool optimize = true;           // optimizer_options.opt_level L0 switches it off
  bool partition_graphs = true;
  std::vector<std::string> device_filters = {};  // "/job:ps": the other tasks that the session uses; empty: all
  std::string collective_leader = {};            // experimental.collective_group_leader; "": not set
  std::string cluster_def = {};                  // serialised: the session's cluster; "": the server's
  std::chrono::milliseconds timeout{0};          // operation_timeout_in_ms: of every call; 0: none

  // True if the session uses the server's devices unchanged.
  bool plain_devices() const {
    return !visible_gpus && max_gpus < 0 && max_cpus < 0 && gpu_memory == 0 && cpu_threads == 0;
  }
};

// Reads a serialised ConfigProto. INVALID_ARGUMENT: it is damaged, or a field contradicts itself, or TensorFlow's
// servers refuse it. `num_gpus`: the number of the server's GPUs.
Result<SessionConfig> read_config(std::string_view serialized, int num_gpus);

}  // namespace argosy::tf
