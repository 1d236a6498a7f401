// Handles feeds that hold the batch size as a number: `feed_dict={x: rows, batch_size: len(rows)}`, for shapes that are
// written with it. In a sharded step such a number must be the shard's size. Internal to the session server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "argosy/passes/simplify/prune.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Returns the indices of the feeds that are integer scalars equal to `value`.
std::vector<std::size_t> scalars_equal_to(std::span<const Tensor> feeds, std::int64_t value);

// Makes the consumers of feed `number` read the first size of feed `batch` instead. The two are equal as long as
// `number` is the number of fed rows.
Status take_size_from_batch(StepGraph& step, std::size_t number, std::size_t batch);

}  // namespace argosy::tf
