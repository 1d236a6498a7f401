// A dataset of random token sequences and the same sequences sorted: a task for a transformer.
#pragma once

#include <memory>

#include "argosy/data/dataset.h"

namespace argosy::models {

// Components "tokens" and "sorted", int32[length], with tokens below `vocabulary`. Example i depends only on seed and
// i.
Result<std::unique_ptr<data::Dataset>> sorting_task(int length, int vocabulary, std::int64_t examples,
                                                    std::uint64_t seed);

}  // namespace argosy::models
