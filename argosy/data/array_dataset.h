// A dataset in memory: one tensor per component, whose first axis is the example. Images of 8 bits stay so in memory,
// and become floats when they are fetched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/data/dataset.h"

namespace argosy::data {

// How bytes become floats: byte * scale + offset.
struct ByteScale {
  float scale = 1.0f / 255.0f;
  float offset = 0;
};

struct ArrayComponent {
  std::string name;
  Tensor values;                           // [examples, …], plain dtype
  std::optional<ByteScale> as_float = {};  // only for kUint8
};

// INVALID_ARGUMENT unless all components have the same number of examples.
Result<std::unique_ptr<Dataset>> make_array_dataset(std::string description, std::vector<ArrayComponent> components,
                                                    int classes);

}  // namespace argosy::data
