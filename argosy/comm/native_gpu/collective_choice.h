// Who does a collective among cards: NCCL, or we ourselves. Decided by what is asked and what is there, never by
// trying.
#pragma once

#include <string>

#include "argosy/base/status.h"

namespace argosy::cuda {

struct CollectiveSituation {
  int ranks = 1;
  int cards = 1;             // on which the ranks are
  bool only_cards = true;    // no rank is a CPU
  bool fixed_order = false;  // the same bits, however many ranks there are
  Status nccl = {};          // why NCCL cannot be used; OK: it can
  std::string setting;       // $ARGOSY_COLLECTIVES: "nccl", "own", or empty
};

enum class CollectiveWay { kNccl, kOwn, kHost };

struct CollectiveChoice {
  CollectiveWay way = CollectiveWay::kOwn;
  std::string reason;  // for people: "NCCL cannot have two ranks on one card"
};

// In this order: a rank that is a CPU: the host. One rank, two ranks on one card, a fixed order: our own. What the
// setting says. NCCL, where it is.
CollectiveChoice choose_collectives(const CollectiveSituation& situation);

}  // namespace argosy::cuda
