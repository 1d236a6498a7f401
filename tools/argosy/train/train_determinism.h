// Tells for one run whether a training on several devices ends with the same variables, bit for bit, as on one device:
// the promise of the documentation.
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

// The reason why results may differ from one device's in the last digits; "": they do not, or there is one device.
std::string why_not_bit_identical(const TrainChoices& choices, std::span<const DeviceSpec> devices,
                                  const StepSizes& sizes);

// The flags with which they are equal, on this many devices of one kind.
std::string flags_for_equal_bits(std::size_t devices, int accumulate);

}  // namespace argosy::cli
