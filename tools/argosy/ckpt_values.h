// Prints and compares tensors of checkpoints, one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "argosy/formats/checkpoint/checkpoint.h"

namespace argosy::cli {

// Numbers as text that reads back equal; strings quoted, with bytes that do not print escaped.
std::vector<std::string> value_texts(const Tensor& tensor, std::int64_t limit);

struct Difference {
  std::string name, what;  // "only in a", "dtype float / double", "12 of 40 values differ, most by 0.25 at [3,1]"
};

// The differences between two checkpoints; numbers count as equal within `tolerance` (absolute), NaN equals NaN.
Result<std::vector<Difference>> compare_checkpoints(const tf::CheckpointReader& a, const tf::CheckpointReader& b,
                                                    double tolerance);

}  // namespace argosy::cli
