// WaitingScreen: what people read while a job is not complete: who is missing, and the network's last error.
//
//   waiting 12 s for 2 of 8 tasks at 10.0.0.1:29500 (deadline 5:00)
//     task 5  gpu-b  the host answers, nothing was heard of the task  -> not started there?
//     task 7  gpu-d  no route to host                                 -> argosy cluster check
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/cluster/coordinator/coordinator.h"

namespace argosy {

// Used by one thread.
class WaitingScreen {
 public:
  WaitingScreen(std::function<void(std::string_view)> note, std::chrono::milliseconds deadline);

  // Of task 0: a line every 2 s, and a row for each missing task. `own` is the coordinator's address.
  void show_missing(const Coordinator::Snapshot& job, const std::string& own);
  // Of other tasks: `what` and its rows, every 2 s; every 10 s where `seldom`.
  void show(std::string_view what, const std::vector<std::string>& rows, bool seldom);
  // "tasks 5, 7 are missing: task 5 gpu-b …; task 7 gpu-d …"
  std::string missing_text(const Coordinator::Snapshot& job, const std::string& own);

 private:
  std::vector<std::string> missing_rows(const Coordinator::Snapshot& job, const std::string& own);
  bool due(std::chrono::milliseconds every);

  const std::function<void(std::string_view)> note_;
  const std::chrono::milliseconds deadline_;
  const std::chrono::steady_clock::time_point began_, first_;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace argosy
