// made_up_batch(): synthetic batches for the models of benchmarks.
#pragma once

#include <cstdint>
#include <vector>

#include "argosy/train/model/layers.h"

namespace argosy::cli {

// A batch for each input, in order, of `batch` examples: numbers in [0, 1), and classes below ten.
std::vector<Tensor> made_up_batch(const std::vector<Layers::Input>& inputs, std::int64_t batch);

}  // namespace argosy::cli
