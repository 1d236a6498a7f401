// The agent: runs one task of a launcher, on the task's host. It reads what to run from its standard input, and sends
// frames. When its input ends the launcher is gone: the task and all that it started are ended.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"

namespace argosy::cli {

// What one task runs. Sent as a line of JSON: the token never stands on a command line.
struct AgentTask {
  std::vector<std::string> words;
  EnvironmentMap environment;
  std::string directory;  // empty: where the agent is
  int devices = 0;        // of an argosy program; 0: not said
  bool errors = true;     // collect error.json
};
std::string to_line(const AgentTask& task);
Result<AgentTask> parse_agent_task(const std::string& line);

// Runs until the task has ended. The exit code of this process.
Result<int> run_agent();

// `argosy train …` with so many devices: --gpus where the host has them, else --emulate; what the user wrote stays.
std::vector<std::string> with_devices(const std::vector<std::string>& words, int devices, int gpus_here);
bool is_argosy(const std::string& word);  // "argosy", or a path to it

}  // namespace argosy::cli
