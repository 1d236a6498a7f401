// Whether a training on several devices ends with one device's variables, to the bit: what the documents promise, asked
// of one run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "argosy/device/device.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// The sizes of a run's steps.
struct StepSizes {
  std::int64_t batch = 0, examples = 0, steps = 0;  // of the data, an epoch's last batch has what is left
  int accumulate = 1;                               // micro-batches on each device
};

// Why the last digits may differ from one device's; "" where they do not, and on one device.
std::string why_not_bit_identical(const TrainChoices& choices, std::span<const DeviceSpec> devices,
                                  const StepSizes& sizes);

// The flags under which they do not, on this many devices of one kind.
std::string flags_for_equal_bits(std::size_t devices, int accumulate);

}  // namespace argosy::cli
