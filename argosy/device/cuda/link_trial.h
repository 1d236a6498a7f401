// Tests the links of GPUs: large copies from pinned host memory and back, and from every GPU to every other, as a
// training makes them. Each copy is compared and timed.
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
  int number = 0;  // GpuFacts::number
};

struct TrialOptions {
  std::size_t bytes = std::size_t{32} << 20;                     // of one copy; as much is held on each GPU and pinned
  int rounds = 5;                                                // timed copies of each link; the best counts
  std::chrono::nanoseconds deadline = std::chrono::seconds(20);  // of one link
};

// Blocks. When the copies of a link do not end within the deadline, that link and all later ones get a `problem`; the
// later ones stay untested. The thread that waits for the copy is then abandoned, with the memory it holds.
std::vector<LinkFacts> try_links(const std::shared_ptr<const Driver>& driver, const std::shared_ptr<Links>& links,
                                 std::vector<TrialGpu> gpus, const TrialOptions& options = {});

}  // namespace argosy::cuda
