// Sums and products of two quantised tensors, element by element, broadcast.
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/elementwise/broadcast_plan.h"
#include "argosy/ops/quantized/ranges.h"

namespace argosy::quantized {

namespace {

struct Pair {
  Range x, y;
  Shape shape;  // of the output
};

Result<Pair> pair_of(const KernelContext& c) {
  const std::string_view op = c.node();
  const auto fits = [&](int i) { return c.input(i).dtype() == DType::kQuint8; };
  if (!fits(0) || !fits(1)) return unsupported_dtype(op, c.input(fits(0) ? 1 : 0).dtype());
  if (c.output_dtype(0) != DType::kQint32) return unsupported_dtype(op, c.output_dtype(0));
  Pair p;
  ARGOSY_ASSIGN_OR_RETURN(p.x, range_at(c, 2, op));
  ARGOSY_ASSIGN_OR_RETURN(p.y, range_at(c, 4, op));
  if (p.x.greatest <= p.x.least) return invalid_argument("max_x must be larger than min_x.");
  if (p.y.greatest <= p.y.least) return invalid_argument("max_y must be larger than min_y.");
  ARGOSY_ASSIGN_OR_RETURN(p.shape, broadcast(c.input(0).shape(), c.input(1).shape()));
  return p;
}

// Output 0 is fn(x, y), as 32-bit integers that wrap round.
template <typename Fn>
Status for_pairs(KernelContext& c, const Shape& shape, Fn fn) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const z, c.output(0, shape));
  if (z->elements() == 0) return ok_status();
  const Shape* const shapes[] = {&c.input(0).shape(), &c.input(1).shape()};
  const BroadcastPlan plan(shape, shapes);
  const auto *const x = c.input(0).raw_as<std::uint8_t>(), *const y = c.input(1).raw_as<std::uint8_t>();
  auto* const to = z->raw_as<std::uint32_t>();
  parallel_for(plan.elements, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    BroadcastCursor at(plan, begin);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i > begin) at.advance(1);
      to[i] = fn(x[at.offset(0)], y[at.offset(1)]);
    }
  });
  return ok_status();
}

// Both in a range with room for the sum: 2^14 times the larger.
Status add(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Pair p, pair_of(c));
  const float most = std::max({p.x.greatest, -p.x.least, p.y.greatest, -p.y.least}) * static_cast<float>(1 << 14);
  if (!std::isfinite(most)) return invalid_argument("the range of the sum, ", most, ", is too large for a float");
  const Range to{-most, most};
  const auto moved = [&](int q, Range from) {
    return static_cast<std::uint32_t>(integer_for<std::int32_t>(number_for(static_cast<std::uint8_t>(q), from), to));
  };
  // As in TensorFlow: one number is moved itself, of several each is as many whole steps above the least as it says.
  const bool one_x = c.input(0).elements() == 1, one_y = c.input(1).elements() == 1 && !one_x;
  const auto move_all = [&](Range from, bool one, std::uint32_t* all) {
    const std::uint32_t least = moved(0, from), step = moved(1, from) - least;
    for (int q = 0; q < 256; ++q) all[q] = one ? moved(q, from) : least + static_cast<std::uint32_t>(q) * step;
  };
  std::uint32_t xs[256], ys[256];
  move_all(p.x, one_x, xs);
  move_all(p.y, one_y, ys);
  ARGOSY_RETURN_IF_ERROR(for_pairs(c, p.shape, [&](std::uint8_t x, std::uint8_t y) { return xs[x] + ys[y]; }));
  return write_range(c, 1, to);
}

// The product of the integers that stand for the numbers, counted from the one that stands for 0.
Status multiply(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Pair p, pair_of(c));
  const std::int64_t zero_x = integer_unclamped<std::uint8_t>(0, p.x), zero_y = integer_unclamped<std::uint8_t>(0, p.y);
  const auto from_zero = [](std::uint8_t q, std::int64_t zero) {
    return static_cast<std::uint32_t>(std::int64_t{q} - zero);
  };
  ARGOSY_RETURN_IF_ERROR(for_pairs(
      c, p.shape, [&](std::uint8_t x, std::uint8_t y) { return from_zero(x, zero_x) * from_zero(y, zero_y); }));
  return write_range(c, 1, range_of_products<std::uint8_t, std::uint8_t>(p.x, p.y));
}

}  // namespace

void add_pairs(KernelRegistry& kernels) {
  kernels.add("QuantizedAdd", "cpu", add);
  kernels.add("QuantizedMul", "cpu", multiply);
}

}  // namespace argosy::quantized
