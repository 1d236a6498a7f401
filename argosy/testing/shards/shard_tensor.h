// Tensors as a mesh axis holds them, for tests: shards, partial values, and the global value of either.
#pragma once

#include <string>
#include <vector>

#include "argosy/sharding/placement.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Elements [begin, end) along a factor of `size` elements, which lies in dimension p.dim under p.rounds outer ones.
// REQUIRES: the dimension is a multiple of size * rounds; the dtype is plain or string.
Tensor shard_of(const Tensor& t, const Placement& p, std::int64_t size, std::int64_t begin, std::int64_t end);

// The global value of shards that end at `ends` along their factor. INVALID_ARGUMENT: their shapes do not fit.
Result<Tensor> join_shards(const std::vector<Tensor>& shards, const Placement& p,
                           const std::vector<std::int64_t>& ends);

// The sum, maximum or minimum of tensors of one dtype and shape, weighted where `weights` are given. Floats are added up
// in double. INVALID_ARGUMENT: other shapes, or no numbers.
Result<Tensor> combine_partials(const std::vector<Tensor>& parts, Combine how, const std::vector<double>& weights = {});

// `shards` unequal tensors that combine to `t`. Some elements of a maximum's or minimum's parts are neutral: the lowest or
// largest number there is.
std::vector<Tensor> split_partial(const Tensor& t, Combine how, int shards);

}  // namespace argosy
