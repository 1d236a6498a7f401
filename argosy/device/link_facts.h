// Results of a trial of the links between GPUs and the host (GpuBackend::try_links()). Value types.
#pragma once

#include <string>
#include <vector>

namespace argosy {

// One direction of one link.
struct LinkFacts {
  static constexpr int kHost = -1;  // pinned memory of the host
  int from = kHost, to = kHost;     // GPUs by number
  bool reaches = false;             // the driver says that one GPU can read the other's memory
  bool direct = false;              // copies go directly; else through the host
  std::string why_not;              // why copies are not direct
  bool tried = false;               // a large copy was made and compared
  bool intact = false;              // the data arrived undamaged
  double bytes_per_second = 0;      // the best of some large copies; 0: not measured
  std::string problem;              // why it was not tried, or what was wrong
};

// How a group of GPUs computes sums.
struct CollectiveFacts {
  std::string way;     // "NCCL", "own", "host"; empty: unknown
  std::string reason;  // "it is there"
};

struct GpuLinks {
  std::vector<LinkFacts> links;  // host to GPU and back, by GPU; then every pair, both ways
  std::vector<int> group;        // the GPUs that can be used
  CollectiveFacts sums;          // of a group of all of them
  CollectiveFacts ordered_sums;  // of the same with --reproducible
};

}  // namespace argosy
