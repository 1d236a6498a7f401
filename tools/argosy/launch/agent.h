// The agent: runs one task of a launcher, on the task's host. It reads an AgentTask from its standard input, and writes
// frames to its standard output. The end of its input means that the launcher is gone: it then ends the task and all
// processes that the task started.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/cluster/environment/find_place.h"

namespace argosy::cli {

// The program of one task. It is sent as a line of JSON, so that the job token is on no command line.
struct AgentTask {
  std::vector<std::string> words;
  EnvironmentMap environment;
  std::string directory;  // empty: where the agent is
  int devices = 0;        // for an argosy program: its number of devices; 0: not given
  bool errors = true;     // collect error.json
};
std::string to_line(const AgentTask& task);
Result<AgentTask> parse_agent_task(const std::string& line);

// Runs until the task has ended. The exit code of this process.
Result<int> run_agent();

// Adds the number of devices to the words of an argosy command: --gpus where the host has enough GPUs, else --emulate.
// Flags that the user gave are kept.
std::vector<std::string> with_devices(const std::vector<std::string>& words, int devices, int gpus_here);
bool is_argosy(const std::string& word);  // "argosy", or a path to it

}  // namespace argosy::cli
