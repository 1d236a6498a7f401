#include "argosy/ops/elementwise/broadcast_plan.h"

#include <algorithm>

#include "argosy/tensor/dtype.h"

namespace argosy {

BroadcastPlan::BroadcastPlan(const Shape& output, std::span<const Shape* const> shapes)
    : operands(static_cast<int>(shapes.size())), elements(output.elements()) {
  ARGOSY_CHECK(operands <= kMaxOperands);
  if (elements == 0) return;
  // From the innermost axis outwards; turned round at the end.
  std::array<std::int64_t, kMaxOperands> dense;
  dense.fill(1);
  for (int axis = output.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = output[axis];
    if (size == 1) continue;
    std::array<std::int64_t, kMaxOperands> step{};
    for (int o = 0; o < operands; ++o) {
      const int own = axis - (output.rank() - shapes[o]->rank());
      if (own < 0 || (*shapes[o])[own] == 1) continue;
      step[o] = dense[o];
      dense[o] *= size;
    }
    const auto continues = [&](int o) {
      const std::int64_t inner = strides[o][rank - 1];
      return step[o] == (inner == 0 ? 0 : inner * sizes[rank - 1]);
    };
    bool merge = rank > 0;
    for (int o = 0; merge && o < operands; ++o) merge = continues(o);
    if (merge) {
      sizes[rank - 1] *= size;
      continue;
    }
    sizes[rank] = size;
    for (int o = 0; o < operands; ++o) strides[o][rank] = step[o];
    ++rank;
  }
  std::reverse(sizes.begin(), sizes.begin() + rank);
  for (int o = 0; o < operands; ++o) std::reverse(strides[o].begin(), strides[o].begin() + rank);
}

bool BroadcastPlan::dense(int operand) const {
  std::int64_t step = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (strides[operand][axis] != step) return false;
    step *= sizes[axis];
  }
  return true;
}

BroadcastCursor::BroadcastCursor(const BroadcastPlan& plan, std::int64_t position) : plan_(plan) {
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    const std::int64_t at = position % plan.sizes[axis];
    position /= plan.sizes[axis];
    for (int o = 0; o < plan.operands; ++o) offset_[o] += at * plan.strides[o][axis];
    if (axis == plan.rank - 1) {
      column_ = at;
    } else {
      index_[axis] = at;
    }
  }
}

void BroadcastCursor::advance(std::int64_t n) {
  if (plan_.rank == 0) return;
  const int inner = plan_.rank - 1;
  column_ += n;
  for (int o = 0; o < plan_.operands; ++o) offset_[o] += n * plan_.strides[o][inner];
  if (column_ < plan_.sizes[inner]) return;
  for (int o = 0; o < plan_.operands; ++o) offset_[o] -= column_ * plan_.strides[o][inner];
  column_ = 0;
  for (int axis = inner - 1; axis >= 0; --axis) {
    for (int o = 0; o < plan_.operands; ++o) offset_[o] += plan_.strides[o][axis];
    if (++index_[axis] < plan_.sizes[axis]) return;
    for (int o = 0; o < plan_.operands; ++o) offset_[o] -= plan_.sizes[axis] * plan_.strides[o][axis];
    index_[axis] = 0;
  }
}

namespace {

template <typename T>
void gather_elements(const BroadcastPlan& plan, int operand, const T* from, std::int64_t begin, std::int64_t n, T* to) {
  const std::int64_t stride = plan.rank == 0 ? 0 : plan.strides[operand][plan.rank - 1];
  BroadcastCursor at(plan, begin);
  while (n > 0) {
    const std::int64_t run = std::min(n, at.left());
    const T* const source = from + at.offset(operand);
    if (stride == 0) {
      std::fill_n(to, run, *source);
    } else {
      std::copy_n(source, run, to);
    }
    to += run;
    n -= run;
    if (n > 0) at.advance(run);
  }
}

}  // namespace

void gather(const BroadcastPlan& plan, int operand, const void* from, std::int64_t begin, std::int64_t n, void* to,
            std::size_t bytes) {
  const auto run = [&]<typename T>(T*) {
    gather_elements(plan, operand, static_cast<const T*>(from), begin, n, static_cast<T*>(to));
  };
  switch (bytes) {
    case 1: return run(static_cast<std::uint8_t*>(nullptr));
    case 2: return run(static_cast<std::uint16_t*>(nullptr));
    case 4: return run(static_cast<std::uint32_t*>(nullptr));
    case 8: return run(static_cast<std::uint64_t*>(nullptr));
    default: ARGOSY_CHECK(bytes == 16); return run(static_cast<Bytes16*>(nullptr));
  }
}

}  // namespace argosy
