#include "argosy/data/files/idx.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "argosy/base/checked.h"
#include "argosy/data/files/gzip.h"
#include "argosy/data/files/swap_bytes.h"

namespace argosy::data {

namespace {

DType idx_dtype(unsigned char code) {
  switch (code) {
    case 0x08: return DType::kUint8;
    case 0x09: return DType::kInt8;
    case 0x0b: return DType::kInt16;
    case 0x0c: return DType::kInt32;
    case 0x0d: return DType::kFloat32;
    case 0x0e: return DType::kFloat64;
    default: return DType::kInvalid;
  }
}

}  // namespace

Result<Tensor> read_idx(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(GzipSource source, GzipSource::open(path));
  const auto damaged = [&](const auto&... what) {
    return data_loss("IDX file ", path, ": ", what...).with_id("ARG-DATA-005");
  };
  unsigned char magic[4] = {};
  ARGOSY_RETURN_IF_ERROR(source.read(magic, sizeof magic));
  const DType dtype = idx_dtype(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || dtype == DType::kInvalid) {
    return damaged("it does not begin with 0, 0 and a known type, but with ", int{magic[0]}, ", ", int{magic[1]}, ", ",
                   int{magic[2]});
  }
  std::vector<std::int64_t> sizes;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::uint32_t size = 0;
    ARGOSY_RETURN_IF_ERROR(source.read(&size, sizeof size));
    sizes.push_back(swap_bytes(size));
  }
  Result<Shape> shape = Shape::make(sizes);
  if (!shape.ok()) return damaged(shape.status().message());
  const auto bytes = checked_mul(shape->elements(), static_cast<std::int64_t>(element_bytes(dtype)));
  if (!bytes || *bytes > source.most_bytes()) {
    return damaged("its header says ", dtype_name(dtype), *shape, ", more than ", source.most_bytes(),
                   " bytes, the most that a file of this size can hold");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Tensor values, Tensor::allocate(dtype, *shape, host_allocator()));
  ARGOSY_RETURN_IF_ERROR(source.read(values.raw(), values.bytes()));
  ARGOSY_RETURN_IF_ERROR(source.finish());
  swap_elements(values);
  return values;
}

}  // namespace argosy::data
