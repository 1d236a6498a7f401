// What staging areas and barriers hold. Plain data, not synchronised (argosy/ops/staging/wait_queue.h does that);
// "nullopt" means: not yet, somebody else has to come first. Internal to the staging family.
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
  std::int64_t bytes = 0;     // 0: any
};

// First in, first out (Stage).
class StagedTuples {
 public:
  // RESOURCE_EXHAUSTED for what could never fit.
  std::optional<Status> put(Tuple& tuple, const StagingLimits& limits);
  std::optional<Status> take(Tuple& out);
  std::optional<Status> peek(std::int64_t index, Tuple& out) const;
  std::int64_t size() const { return static_cast<std::int64_t>(tuples_.size()); }
  void clear();

 private:
  std::deque<Tuple> tuples_;
  std::int64_t bytes_ = 0;
};

// By key, filled and emptied in parts (MapStage). The least key is the first.
class StagedMap {
 public:
  // `indices`: which of `width` values these are; a key is there once it has had all of them. A second full tuple of a
  // key that is there is dropped, as TensorFlow drops it.
  std::optional<Status> put(std::int64_t key, const std::vector<std::int64_t>& indices, Tuple& values,
                            std::int64_t width, const StagingLimits& limits);
  // Those of `indices`; with `take`, they are gone afterwards, and the key with the last of them.
  std::optional<Status> get(std::int64_t key, const std::vector<std::int64_t>& indices, bool take, Tuple& out);
  // The same of the first key there is.
  std::optional<Status> take_any(const std::vector<std::int64_t>& indices, std::int64_t& key, Tuple& out);
  std::int64_t size() const { return static_cast<std::int64_t>(complete_.size()); }
  std::int64_t incomplete() const { return static_cast<std::int64_t>(partial_.size()); }
  void clear();

 private:
  using Values = std::vector<Tensor>;  // not valid(): not there
  std::map<std::int64_t, Values> complete_, partial_;
  std::int64_t bytes_ = 0;
};

}  // namespace argosy
