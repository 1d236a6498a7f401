// The report of `argosy run`: what the devices did, in a few lines for people or as one JSON object for programs.
#pragma once

#include <string>

#include "argosy/tf/server/service/work_totals.h"

namespace argosy::cli {

struct RunReport {
  tf::WorkTotals totals;
  bool replicate = false;                // the program's training steps were to be sharded over the GPUs
  double seconds = 0;                    // the run time of the program
  int exit_code = 0;                     // the program's
  std::string own_task = {};             // of a cluster: what this run served itself; "": none
  std::vector<std::string> served = {};  // tasks whose servers the program started, as RunHook::served() says
};

//   ran  2 sessions, 1204 steps, 12.3 s of the program's 20.1 s
//   replicated  1200 steps: 2 devices, loss: a mean over the batch, …
//   not replicated: the loss 'Mean_2' does not depend on the batch
//       4 steps, node 'Mean_2'
//   computing, of that time
//        cpu:0 3 %   gpu:0 61 %   gpu:1 58 %
//   1.22 devices at work at a time; …
//   what would help: …
std::string run_verdict(const RunReport& report);

// The same, in one line. Keys: docs/tensorflow.md.
std::string run_verdict_json(const RunReport& report);

}  // namespace argosy::cli
