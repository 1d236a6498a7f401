// How the tasks of a launch ended, and the first cause, which the launcher reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::cli {

struct TaskOutcome {
  int rank = 0;
  std::string host;
  int exit = 0;                  // 128 + N where signal N ended it
  int signal = 0;                // that ended it; 0: none
  bool ended_by_us = false;      // after another had failed, or this program was told to end
  int order = 0;                 // first to end: 0
  nlohmann::ordered_json error;  // as Console writes it; null: it wrote none
  std::string last_words;        // the end of its standard error
  std::string agent_words;       // of ssh or the agent

  std::string name() const;  // "task 1 (gpu-b)"
  bool failed() const { return exit != 0; }
};

// {"schema_version": 1, "task": 1, "host": …, "exit": 5, "signal": 0, "error": {…}, "last_output": …}
nlohmann::ordered_json outcome_json(const TaskOutcome& outcome);

// Of an agent that ended without its last frame. `remote`: started by ssh; `answered`: a frame of it came before. A
// host that ssh does not reach, or that has no such program, is missing (3); one that answered first is gone (5).
void agent_ended(int exit, int signal, bool remote, bool answered, TaskOutcome& outcome);

// Reads an agent's last frame, {"exit": 5, "signal": 0, "error": {…}}. False: it is none.
bool read_exit(std::string_view frame, TaskOutcome& outcome);

struct LaunchEnd {
  int exit = 0;
  Status cause;  // OK: every task ended with 0, or all were interrupted
};
// The task whose failure the others follow, and what it says. `asked`: the signal that told this program to end, or 0.
LaunchEnd end_of_launch(const std::vector<TaskOutcome>& outcomes, int asked);

}  // namespace argosy::cli
