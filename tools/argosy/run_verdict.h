// What the devices did for a program, in a few lines for people.
#pragma once

#include <string>

#include "argosy/tf/session/work_totals.h"

namespace argosy::cli {

//   ran  2 sessions, 1204 steps, 12.3 s of the program's 20.1 s
//   gpu:0  computed 61 % of that time   gpu:1  58 %   cpu:0  3 %
//   1.22 devices at work at a time: one alone would have taken at least 15.0 s
//   bound by …; what would help
//
// `replicate`: the program's training steps were to be shared among the GPUs.
std::string run_verdict(const tf::WorkTotals& totals, bool replicate, double seconds);

}  // namespace argosy::cli
