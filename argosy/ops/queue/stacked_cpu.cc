#include <algorithm>
#include <cstring>

#include "argosy/ops/queue/queue_contents.h"

namespace argosy {

namespace {

// Copies `from`, of sizes `inner`, into the corner of a region of sizes `outer`: axis by axis, rows of the last at
// once.
template <typename T>
void copy_corner(T* to, const T* from, std::span<const std::int64_t> outer, std::span<const std::int64_t> inner) {
  if (inner.size() <= 1) {
    std::copy_n(from, inner.empty() ? 1 : inner[0], to);
    return;
  }
  std::int64_t to_step = 1, from_step = 1;
  for (std::size_t k = 1; k < inner.size(); ++k) {
    to_step *= outer[k];
    from_step *= inner[k];
  }
  for (std::int64_t i = 0; i < inner[0]; ++i) {
    copy_corner(to + i * to_step, from + i * from_step, outer.subspan(1), inner.subspan(1));
  }
}

}  // namespace

Result<Tensor> stacked(const std::vector<const Tensor*>& parts, DType dtype, const PartialShape& shape,
                       Allocator& memory) {
  std::vector<std::int64_t> sizes = shape.sizes();
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] >= 0) continue;
    sizes[k] = 0;
    for (const Tensor* part : parts) sizes[k] = std::max(sizes[k], part->shape()[static_cast<int>(k)]);
  }
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(parts.size()));
  ARGOSY_ASSIGN_OR_RETURN(const Shape all, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor rows, Tensor::allocate(dtype, all, memory));
  const auto fill = [&]<typename T>() {
    const std::span<const std::int64_t> outer = all.sizes().subspan(1);
    const std::int64_t step = parts.empty() ? 0 : all.elements() / static_cast<std::int64_t>(parts.size());
    T* to = rows.raw_as<T>();
    for (const Tensor* part : parts) {
      if (part->elements() > 0) copy_corner(to, part->raw_as<T>(), outer, part->shape().sizes());
      to += step;
    }
    return ok_status();
  };
  switch (dtype) {
    case DType::kString: (void)fill.template operator()<std::string>(); return rows;
    case DType::kResource: (void)fill.template operator()<ResourceHandle>(); return rows;
    case DType::kVariant: (void)fill.template operator()<Variant>(); return rows;
    default:
      if (!shape.is_full()) std::memset(rows.raw(), 0, rows.bytes());
      ARGOSY_RETURN_IF_ERROR(dispatch_size(dtype, "QueueDequeueMany", fill));
      return rows;
  }
}

}  // namespace argosy
