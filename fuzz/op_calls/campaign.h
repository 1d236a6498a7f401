// Calls of many ops, made by processes that may crash or hang without ending the campaign.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/testing/op_cases/recorded_case.h"
#include "fuzz/op_calls/shared_progress.h"

namespace argosy::op_calls {

struct CampaignOptions {
  std::uint64_t calls = 100000;
  double seconds = 0;           // ends sooner; 0: never
  std::uint64_t seed = 1;       // of the first round: round k of every op has seed + k
  std::string only;             // one op
  int in_session = 6;           // one call in so many also runs in a session
  double longest_seconds = 20;  // a call that takes longer is killed
  std::size_t most_findings = 400;
};

struct Finding {
  std::string op, what;
  std::uint64_t seed = 0;
  bool in_session = false;
  int times = 1;
};

using Recorded = std::map<std::string, std::vector<RecordedCase>, std::less<>>;

// Prints each finding once, when it is met. Returns all, by what they are.
std::vector<Finding> run_campaign(const CampaignOptions& options, const Recorded& recorded, SharedProgress& progress);
// One call, or that of the next seeds as well, in this process, each printed first.
int replay(const std::string& op, std::uint64_t seed, int times, bool in_session, const Recorded& recorded);
// The calls of a campaign in this process, without a watcher: for valgrind and debuggers. Returns the findings.
int run_here(const CampaignOptions& options, const Recorded& recorded, SharedProgress& progress);
// How far the calls of each op came.
void print_coverage(const SharedProgress& progress, bool every_op);

}  // namespace argosy::op_calls
