// ClusterSpec: the tasks of a cluster and their addresses, as in TensorFlow: jobs by name, tasks by number,
// "host:port".
//
//   {"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]}          a list, or {"0": "b:2222", "3": "c:2222"} by number
//   {"cluster": {...}, "task": {"type": "worker", "index": 1}}  TF_CONFIG
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// One task of a cluster: "/job:worker/replica:0/task:1". A value type.
struct TaskName {
  std::string job;  // "worker"
  int task = 0;     // its number in the job

  std::string to_string() const;  // "/job:worker/replica:0/task:1"
  auto operator<=>(const TaskName&) const = default;
};

struct ClusterSpec {
  std::map<std::string, std::map<int, std::string>> jobs;  // job -> task -> "host:port"

  // The JSON of either form above. INVALID_ARGUMENT "ARG-CLUSTER-001" says where, what is wrong and what is expected.
  // Errors are also: the same address twice, a job without tasks, an address without a port.
  static Result<ClusterSpec> parse(std::string_view json);
  // `text` is that JSON, or "@FILE".
  static Result<ClusterSpec> read(const std::string& text);

  // Null where there is no such task. Valid as long as the spec does not change.
  const std::string* address(const TaskName& task) const;
  std::vector<TaskName> tasks() const;  // by job's name, then number
  std::string to_json() const;          // of the first form; parse() gives an equal spec
  bool operator==(const ClusterSpec&) const = default;
};

// TF_CONFIG: the cluster, and which task this process is. `task` is unset where the text has none.
struct TfConfig {
  ClusterSpec cluster;  // all tasks; none if the text has no cluster: then the program runs alone, as in TensorFlow
  std::optional<TaskName> task;  // this process

  static Result<TfConfig> parse(std::string_view json);  // errors are those of ClusterSpec::parse
};

}  // namespace argosy
