// Chooses the backend of a collective: NCCL, native or host-staged. The choice is a pure function of the request.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace argosy::cuda {

struct CollectiveRequest {
  int ranks = 1;
  int physical_gpus = 1;       // distinct ones that the ranks are on
  bool only_gpus = true;       // no rank is a CPU
  bool ordered = false;        // the graph fixes the order of the sum: the same bits, however many ranks there are
  bool deterministic = false;  // the user asked for the same bits
  Status nccl = {};            // why NCCL cannot be used; OK: it can
  std::string setting;         // $ARGOSY_COLLECTIVES: "nccl", "own", or empty
};

enum class CollectiveBackend { kNccl, kNative, kHostStaged };

struct CollectiveChoice {
  CollectiveBackend backend = CollectiveBackend::kNative;
  std::string reason;   // for people: "NCCL cannot have two ranks on one physical GPU"
  bool wanted = false;  // NCCL was asked for, by its default or by the setting
};

// The first rule that applies:
// * a rank is a CPU: host-staged;
// * one rank, two ranks on one physical GPU, or a deterministic sum: native;
// * the order of the sum is fixed, unless the setting is "nccl": native;
// * the setting is "own", or NCCL cannot be used: native;
// * else NCCL.
CollectiveChoice choose_collectives(const CollectiveRequest& request);

}  // namespace argosy::cuda
