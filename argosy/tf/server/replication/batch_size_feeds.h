// The batch's size, fed as a number beside the batch: `feed_dict={x: rows, batch_size: len(rows)}`, for shapes that are
// written with it. Where the batch is sharded, a shard's is its own. Internal to the session server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "argosy/passes/prune/prune.h"
#include "argosy/tensor/tensor.h"

namespace argosy::tf {

// Which feeds are integers of this value.
std::vector<std::size_t> scalars_equal_to(std::span<const Tensor> feeds, std::int64_t value);

// From here on, who takes the number takes the first size of `batch`, also a feed, in its place: the same, as long as
// it is fed so many rows.
Status take_size_from_batch(StepGraph& step, std::size_t number, std::size_t batch);

}  // namespace argosy::tf
