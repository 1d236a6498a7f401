// Sequences of random tokens and the same tokens sorted: something for a transformer to learn.
#pragma once

#include <memory>

#include "argosy/data/dataset.h"

namespace argosy::models {

// Components "tokens" and "sorted", int32[length], tokens below `vocabulary`. Example i depends on seed and i alone.
Result<std::unique_ptr<data::Dataset>> sorting_task(int length, int vocabulary, std::int64_t examples,
                                                    std::uint64_t seed);

}  // namespace argosy::models
