// The parsed and checked content of a checkpoint's .index. Internal to argosy/formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/formats/checkpoint/slice_key.h"
#include "argosy/tensor/dtype.h"
#include "argosy/tensor/shape.h"

namespace argosy::tf {

struct StoredTensor {
  std::string key;  // a tensor's name, or a slice_key
  DType dtype = DType::kInvalid;
  int dtype_number = 0;
  Shape shape;
  int shard = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::uint32_t crc = 0;      // not masked
  std::vector<Slice> slices;  // of a partitioned variable; the data is in the entries of their keys
};

struct BundleIndex {
  int shards = 0;
  std::vector<StoredTensor> tensors;  // by key, ascending

  const StoredTensor* find(std::string_view key) const;
};

// Reads and checks an .index file. The result is consistent: shards and slices exist, sizes agree with dtype and shape,
// byte ranges do not overlap, slices tile their tensor. Only the data files can still contradict it.
// `piece`: true for one writer's piece of a checkpoint, before the merge: its slices need not tile their tensor.
Result<BundleIndex> load_index(const std::string& path, bool piece = false);

// The bytes of an .index file. INVALID_ARGUMENT: more data files or slices than load_index() accepts. REQUIRES: tensors
// by key, ascending.
Result<std::string> build_index(const BundleIndex& index);

// Describes an entry for messages: "tensor 'w'", "a slice of 'w'".
std::string describe_key(std::string_view key);

// True if two slices of a tensor of shape `whole` have elements in common. REQUIRES: as slice_shape().
bool overlap(const Slice& a, const Slice& b, const Shape& whole);

// Returns the shape of a slice; a length of -1 becomes the size of the whole dimension. REQUIRES: a slice inside
// `whole`.
Shape slice_shape(const Slice& slice, const Shape& whole);

}  // namespace argosy::tf
