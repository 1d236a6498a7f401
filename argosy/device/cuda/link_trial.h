// Tries out what connects GPUs: large copies from pinned memory of the host and back, and from every GPU to every
// other, as training makes them, each looked at and timed.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "argosy/device/cuda/driver/driver.h"
#include "argosy/device/cuda/links.h"
#include "argosy/device/link_facts.h"

namespace argosy::cuda {

struct TrialGpu {
  CuDevice handle = 0;
  int number = 0;  // nvidia-smi's
};

struct TrialOptions {
  std::size_t bytes = std::size_t{32} << 20;                     // of one copy; what is held on each GPU and pinned
  int rounds = 5;                                                // timed copies of each link; the best counts
  std::chrono::nanoseconds deadline = std::chrono::seconds(20);  // of one link
};

// Blocks. A link whose copy does not end within the deadline is told so, and so are those after it, untried; the thread
// that waits for it is left behind then, with what it holds.
std::vector<LinkFacts> try_links(const std::shared_ptr<const Driver>& driver, const std::shared_ptr<Links>& links,
                                 std::vector<TrialGpu> gpus, const TrialOptions& options = {});

}  // namespace argosy::cuda
