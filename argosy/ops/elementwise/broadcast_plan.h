// BroadcastPlan: how to loop over operands that broadcast to one output. Axes of size 1 are dropped, and neighbouring
// axes along which no operand changes its pattern are merged. So most broadcasts become one or two nested loops.
#pragma once

#include <array>
#include <span>

#include "argosy/tensor/shape.h"

namespace argosy {

struct BroadcastPlan {
  // A tensor with more axes of size 2 or above has 2^63 elements or more.
  static constexpr int kMaxRank = 63;
  static constexpr int kMaxOperands = 3;

  int rank = 0;
  int operands = 0;
  std::int64_t elements = 0;                 // of the output
  std::array<std::int64_t, kMaxRank> sizes;  // outermost first
  // In elements; 0 along axes on which the operand is repeated. Innermost: 0 or 1.
  std::array<std::array<std::int64_t, kMaxRank>, kMaxOperands> strides;

  // REQUIRES: every operand broadcasts to `output`; at most kMaxOperands of them.
  BroadcastPlan(const Shape& output, std::span<const Shape* const> shapes);

  std::int64_t row() const { return rank == 0 ? 1 : sizes[rank - 1]; }
  // True if the operand's elements are contiguous in the output's order.
  bool dense(int operand) const;
};

// A position in the output and in every operand. It moves within a row, which is the innermost axis, and on to the next
// row.
class BroadcastCursor {
 public:
  BroadcastCursor(const BroadcastPlan& plan, std::int64_t position);

  // Elements left in this row.
  std::int64_t left() const { return plan_.row() - column_; }
  // Returns the position in an operand, in elements from its start.
  std::int64_t offset(int operand) const { return offset_[operand]; }
  // REQUIRES: n <= left().
  void advance(std::int64_t n);

 private:
  const BroadcastPlan& plan_;
  std::int64_t column_ = 0;
  std::array<std::int64_t, BroadcastPlan::kMaxOperands> offset_{};
  std::array<std::int64_t, BroadcastPlan::kMaxRank> index_;  // of the outer axes
};

// Copies the operand's elements for output positions [begin, begin + n) to `to`, contiguously. `bytes`: of one element.
void gather(const BroadcastPlan& plan, int operand, const void* from, std::int64_t begin, std::int64_t n, void* to,
            std::size_t bytes);

}  // namespace argosy
