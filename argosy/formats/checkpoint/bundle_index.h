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
  std::vector<Slice> slices;  // of a partitioned variable; its data lies under their keys
};

struct BundleIndex {
  int shards = 0;
  std::vector<StoredTensor> tensors;  // by key, ascending

  const StoredTensor* find(std::string_view key) const;
};

// What it returns is consistent in itself: shards and slices exist, sizes agree with dtype and shape, byte ranges do
// not overlap, slices tile their tensor. Only the data files can still disagree with it.
// `piece`: of a checkpoint that is still to be merged; then slices need not tile their tensor.
Result<BundleIndex> load_index(const std::string& path, bool piece = false);

// The bytes of an .index file. REQUIRES: tensors by key, ascending.
Result<std::string> build_index(const BundleIndex& index);

// "tensor 'w'", "a slice of 'w'": for messages.
std::string describe_key(std::string_view key);

// Do two such slices have elements in common?
bool overlap(const Slice& a, const Slice& b, const Shape& whole);

// Shape of a slice of a tensor, its lengths filled in. REQUIRES: a slice that load_index accepted.
Shape slice_shape(const Slice& slice, const Shape& whole);

}  // namespace argosy::tf
