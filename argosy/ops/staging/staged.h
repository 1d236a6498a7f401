// The contents of staging areas. Not synchronised: WaitQueue (argosy/ops/staging/wait_queue.h) locks. An operation
// returns nullopt if it cannot complete yet, and must be tried again after another operation. Internal to the staging
// family.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy {

using Tuple = std::vector<Tensor>;

struct StagingLimits {
  std::int64_t capacity = 0;  // elements; 0: any number
  std::int64_t bytes = 0;     // 0: any number
};

// A first in, first out area (Stage).
class StagedTuples {
 public:
  // RESOURCE_EXHAUSTED: the tuple is larger than the area's limit.
  std::optional<Status> put(Tuple& tuple, const StagingLimits& limits);
  std::optional<Status> take(Tuple& out);
  std::optional<Status> peek(std::int64_t index, Tuple& out) const;
  std::int64_t size() const { return static_cast<std::int64_t>(tuples_.size()); }
  void clear();

 private:
  std::deque<Tuple> tuples_;
  std::int64_t bytes_ = 0;
};

// A map from keys to tuples, which can be put and taken in parts (MapStage). The least key is the first.
class StagedMap {
 public:
  // `indices`: which of the key's `width` values these are. The key is available once it has all of them. A second
  // complete tuple for an available key is dropped, as in TensorFlow.
  std::optional<Status> put(std::int64_t key, const std::vector<std::int64_t>& indices, Tuple& values,
                            std::int64_t width, const StagingLimits& limits);
  // Returns the values `indices` of a key. With `take` they are removed, and the key with its last value.
  std::optional<Status> get(std::int64_t key, const std::vector<std::int64_t>& indices, bool take, Tuple& out);
  // Takes the values `indices` of the first available key.
  std::optional<Status> take_any(const std::vector<std::int64_t>& indices, std::int64_t& key, Tuple& out);
  std::int64_t size() const { return static_cast<std::int64_t>(complete_.size()); }
  std::int64_t incomplete() const { return static_cast<std::int64_t>(partial_.size()); }
  void clear();

 private:
  using Values = std::vector<Tensor>;  // an invalid tensor: no value
  std::map<std::int64_t, Values> complete_, partial_;
  std::int64_t bytes_ = 0;
};

}  // namespace argosy
