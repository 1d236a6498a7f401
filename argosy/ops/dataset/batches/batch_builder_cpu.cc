#include <algorithm>
#include <cstring>

#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// Batches of more rows than this grow as they fill: the size asked for may be far more than there is.
constexpr std::int64_t kRowsAtOnce = 4096;

Result<Tensor> with_room(const Shape& row, DType dtype, std::int64_t rows, Allocator& memory) {
  std::vector<std::int64_t> sizes = {rows};
  sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  return Tensor::allocate(dtype, shape, memory);
}

void put_row(const Tensor& batch, std::int64_t row, const Tensor& element) {
  if (is_plain(element.dtype())) {
    const std::size_t bytes = element.bytes();
    if (bytes > 0) std::memcpy(batch.raw_as<std::byte>() + static_cast<std::size_t>(row) * bytes, element.raw(), bytes);
    return;
  }
  copy_elements(batch.rows(row, row + 1), element);
}

bool same_shape(const Shape& batch, const Shape& element) {
  return batch.rank() == element.rank() + 1 &&
         std::equal(element.sizes().begin(), element.sizes().end(), batch.sizes().begin() + 1);
}

}  // namespace

Status BatchBuilder::add(const Element& element) {
  if (rows_ == room_) {
    const std::int64_t room = std::min(most_, room_ == 0 ? kRowsAtOnce : 2 * room_);
    Element larger;
    for (const Tensor& t : element) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor next, with_room(t.shape(), t.dtype(), room, memory_));
      const std::size_t i = larger.size();
      if (rows_ > 0 && same_shape(batch_[i].shape(), t.shape())) {
        copy_elements(next.rows(0, rows_), batch_[i].rows(0, rows_));
      } else if (rows_ > 0) {
        next = batch_[i];  // the loop below tells
      }
      larger.push_back(std::move(next));
    }
    batch_ = std::move(larger);
    room_ = room;
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    if (!same_shape(batch_[i].shape(), element[i].shape())) {
      return invalid_argument("Cannot batch tensors with different shapes in component ", i,
                              ". First element had shape ", batch_[i].shape().removed(0), " and element ", rows_,
                              " had shape ", element[i].shape(), ".");
    }
    put_row(batch_[i], rows_, element[i]);
  }
  ++rows_;
  return ok_status();
}

Element BatchBuilder::take() {
  if (rows_ < room_) {
    for (Tensor& t : batch_) t = t.rows(0, rows_);
  }
  rows_ = room_ = 0;
  return std::exchange(batch_, {});
}

}  // namespace argosy::datasets
