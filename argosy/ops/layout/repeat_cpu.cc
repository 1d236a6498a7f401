#include "argosy/base/checked.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/region_walk.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

Result<Ints> multiples_for(KernelContext& c, std::string_view op) {
  const int rank = c.input(0).shape().rank();
  ARGOSY_ASSIGN_OR_RETURN(const Ints multiples, read_ints(c.input(1), "multiples"));
  if (c.input(1).shape().rank() != 1 || multiples.size() != rank) {
    return invalid_argument(op, ": multiples must be a vector of ", rank, " numbers, not of shape ",
                            c.input(1).shape());
  }
  return multiples;
}

// Every axis of the small shape twice: once per tile, once per element of it.
Region tiles(const Ints& multiples, const Shape& small, const Shape& whole) {
  const Ints small_strides = row_major(small.sizes());
  const Ints whole_strides = row_major(whole.sizes());
  Region region;
  for (int i = 0; i < small.rank(); ++i) {
    region.add(multiples[i], small[i] * whole_strides[i], 0);
    region.add(small[i], whole_strides[i], small_strides[i]);
  }
  return region;
}

template <Copy kCopy>
Status tile(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Ints multiples, multiples_for(c, "Tile"));
  Ints sizes(x.shape().sizes());
  for (int i = 0; i < sizes.size(); ++i) {
    if (multiples[i] < 0)
      return invalid_argument("Expected multiples[", i, "] >= 0, but got ", multiples[i], ": Tile: multiples[", i,
                              "] is ", multiples[i]);
    const auto size = checked_mul(sizes[i], multiples[i]);
    if (!size) return invalid_argument("Tile: axis ", i, " of ", x.shape(), " times ", multiples[i], " overflows");
    sizes[i] = *size;
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  kCopy(*y, 0, x, 0, tiles(multiples, x.shape(), shape));
  return ok_status();
}

Status tile_grad(KernelContext& c) {
  const Tensor& dy = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Ints multiples, multiples_for(c, "TileGrad"));
  Ints sizes(dy.shape().sizes());
  for (int i = 0; i < sizes.size(); ++i) {
    if (multiples[i] <= 0 || sizes[i] % multiples[i] != 0) {
      return invalid_argument("TileGrad: axis ", i, " of ", dy.shape(), " is not ", multiples[i], " tiles");
    }
    sizes[i] /= multiples[i];
  }
  const Shape shape(sizes.span());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
  return dispatch<NumberTypes>(dy.dtype(), "TileGrad", [&]<typename T>() -> Status {
    fill_zeros(*dx);
    Region region = tiles(multiples, shape, dy.shape());
    std::swap(region.to, region.from);
    const RegionAxes axes(region, 1);
    if (axes.nothing) return ok_status();
    walk(axes, dx->data<T>(), static_cast<const T*>(dy.data<T>()), 0, axes.product(),
         [](T* t, const T* f) { *t = wrapping_add(*t, *f); });
    return ok_status();
  });
}

// x with the order reversed along the axes whose flag is set.
template <Copy kCopy>
Status reverse_flagged(KernelContext& c, const Ints& flags) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  Region region{Ints(x.shape().sizes()), row_major(x.shape().sizes()), row_major(x.shape().sizes())};
  std::int64_t offset = 0;
  for (int i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    offset += (region.sizes[i] - 1) * region.from[i];
    region.from[i] = -region.from[i];
  }
  kCopy(*y, 0, x, offset, region);
  return ok_status();
}

template <Copy kCopy>
Status reverse_v2(KernelContext& c) {
  const int rank = c.input(0).shape().rank();
  if (c.input(1).shape().rank() != 1) {
    return invalid_argument("ReverseV2: axis must be a vector, not of shape ", c.input(1).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints axes, read_ints(c.input(1), "ReverseV2: axis"));
  Ints flags = Ints::filled(rank, 0);
  for (int i = 0; i < axes.size(); ++i) {
    const std::int64_t given = axes[i];
    if (given < -rank || given >= rank) {
      return invalid_argument("'axis'[", i, "] = ", given, " is out of valid range [0, ", rank - 1,
                              "]: ReverseV2: axis ", given, " is outside");
    }
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, rank, "ReverseV2"));
    if (flags[axis] != 0) return invalid_argument("ReverseV2: axis ", axis, " is there twice");
    flags[axis] = 1;
  }
  return reverse_flagged<kCopy>(c, flags);
}

template <Copy kCopy>
Status reverse(KernelContext& c) {
  const int rank = c.input(0).shape().rank();
  const Tensor& dims = c.input(1);
  if (dims.shape().rank() != 1 || dims.elements() != rank) {
    return invalid_argument("Reverse: dims must be a vector of ", rank, " values, not of shape ", dims.shape());
  }
  Ints flags;
  for (const bool flag : dims.values<bool>()) flags.push_back(flag ? 1 : 0);
  return reverse_flagged<kCopy>(c, flags);
}

template <Copy kCopy>
class ReverseSequence final : public Kernel {
 public:
  ReverseSequence(std::int64_t seq, std::int64_t batch) : seq_(seq), batch_(batch) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<ReverseSequence>(init.attrs.get_int("seq_dim"), init.attrs.get_int("batch_dim")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const std::int64_t rank = x.shape().rank();
    if (seq_ < 0 || batch_ < 0 || seq_ >= rank || batch_ >= rank || seq_ == batch_) {
      return invalid_argument("ReverseSequence: seq_dim ", seq_, " and batch_dim ", batch_,
                              " must be two axes of the input, whose shape is ", x.shape());
    }
    const int seq = static_cast<int>(seq_);
    const int batch = static_cast<int>(batch_);
    ARGOSY_ASSIGN_OR_RETURN(const Ints lengths, read_ints(c.input(1), "ReverseSequence: seq_lengths"));
    if (c.input(1).shape().rank() != 1 || lengths.size() != x.shape()[batch]) {
      return invalid_argument("ReverseSequence: seq_lengths must be a vector of ", x.shape()[batch],
                              " lengths, not of shape ", c.input(1).shape());
    }
    for (const std::int64_t n : lengths) {
      if (n < 0 || n > x.shape()[seq]) {
        return invalid_argument("ReverseSequence: a length of ", n, " for axis ", seq, " of ", x.shape());
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const Ints strides = row_major(x.shape().sizes());
    Region row{Ints(x.shape().sizes()), strides, strides};
    row.sizes[batch] = 1;
    for (int b = 0; b < lengths.size(); ++b) {
      const std::int64_t at = b * strides[batch];
      const std::int64_t n = lengths[b];
      row.sizes[seq] = n;
      row.from[seq] = -strides[seq];
      kCopy(*y, at, x, at + (n - 1) * strides[seq], row);
      row.sizes[seq] = x.shape()[seq] - n;
      row.from[seq] = strides[seq];
      kCopy(*y, at + n * strides[seq], x, at + n * strides[seq], row);
    }
    return ok_status();
  }

 private:
  std::int64_t seq_, batch_;
};

// Each rolled axis falls into two parts; every combination of parts is one region.
template <Copy kCopy>
void roll_parts(const Tensor& y, std::int64_t to, const Tensor& x, std::int64_t from, const Ints& shifts, int axis,
                Region& region) {
  while (axis < shifts.size() && shifts[axis] == 0) ++axis;
  if (axis == shifts.size()) return kCopy(y, to, x, from, region);
  const std::int64_t size = region.sizes[axis];
  const std::int64_t stride = region.to[axis];
  const std::int64_t shift = shifts[axis];
  region.sizes[axis] = size - shift;
  roll_parts<kCopy>(y, to + shift * stride, x, from, shifts, axis + 1, region);
  region.sizes[axis] = shift;
  roll_parts<kCopy>(y, to, x, from + (size - shift) * stride, shifts, axis + 1, region);
  region.sizes[axis] = size;
}

template <Copy kCopy>
Status roll(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() == 0) return invalid_argument("Roll: a scalar cannot be rolled");
  ARGOSY_ASSIGN_OR_RETURN(const Ints given, read_ints(c.input(1), "Roll: shift"));
  ARGOSY_ASSIGN_OR_RETURN(const Ints axes, read_ints(c.input(2), "Roll: axis"));
  if (c.input(1).shape() != c.input(2).shape()) {
    return invalid_argument("Roll: shift of shape ", c.input(1).shape(), " and axis of shape ", c.input(2).shape());
  }
  Ints shifts = Ints::filled(x.shape().rank(), 0);
  for (int i = 0; i < axes.size(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(axes[i], x.shape().rank(), "Roll"));
    const std::int64_t size = std::max<std::int64_t>(x.shape()[axis], 1);
    const std::int64_t shift = given[i] % size < 0 ? given[i] % size + size : given[i] % size;
    shifts[axis] = shifts[axis] >= size - shift ? shifts[axis] - (size - shift) : shifts[axis] + shift;
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  if (x.elements() == 0) return ok_status();
  Region region{Ints(x.shape().sizes()), row_major(x.shape().sizes()), row_major(x.shape().sizes())};
  roll_parts<kCopy>(*y, 0, x, 0, shifts, 0, region);
  return ok_status();
}

}  // namespace

void add_repeats(KernelRegistry& kernels) {
  kernels.add("Tile", "cpu", tile<copy_region>);
  kernels.add("Tile", "cpu", tile<copy_region_plainly>);
  kernels.add("TileGrad", "cpu", tile_grad);
  kernels.add("ReverseV2", "cpu", reverse_v2<copy_region>);
  kernels.add("ReverseV2", "cpu", reverse_v2<copy_region_plainly>);
  kernels.add("Reverse", "cpu", reverse<copy_region>);
  kernels.add("Reverse", "cpu", reverse<copy_region_plainly>);
  kernels.add("ReverseSequence", "cpu", ReverseSequence<copy_region>::make);
  kernels.add("ReverseSequence", "cpu", ReverseSequence<copy_region_plainly>::make);
  kernels.add("Roll", "cpu", roll<copy_region>);
  kernels.add("Roll", "cpu", roll<copy_region_plainly>);
}

}  // namespace argosy
