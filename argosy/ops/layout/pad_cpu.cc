#include <cstring>

#include "argosy/base/checked.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/region_walk.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

// How many elements lie before and after, per axis.
struct Paddings {
  Ints before, after;
};

Result<Paddings> read_paddings(const Tensor& t, int rank, std::string_view op) {
  if (t.shape().rank() != 2 || t.shape()[0] != rank || t.shape()[1] != 2) {
    return invalid_argument(op, ": paddings must be [", rank, ",2], not ", t.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints flat, read_ints(t.reshaped({2 * rank}), "paddings"));
  Paddings paddings;
  for (int i = 0; i < rank; ++i) {
    if (flat[2 * i] < 0 || flat[2 * i + 1] < 0) {
      return invalid_argument("Paddings must be non-negative: ", flat[2 * i], " ", flat[2 * i + 1], ": ", op,
                              ": paddings of axis ", i, " are ", flat[2 * i], " and ", flat[2 * i + 1],
                              ", but may not be negative");
    }
    paddings.before.push_back(flat[2 * i]);
    paddings.after.push_back(flat[2 * i + 1]);
  }
  return paddings;
}

Result<Shape> padded(const Shape& x, const Paddings& paddings, std::string_view op) {
  Ints sizes(x.sizes());
  for (int i = 0; i < x.rank(); ++i) {
    const auto frame = checked_add(paddings.before[i], paddings.after[i]);
    const auto size = frame ? checked_add(sizes[i], *frame) : frame;
    if (!size) return invalid_argument(op, ": axis ", i, " overflows");
    sizes[i] = *size;
  }
  return Shape::make(sizes.span());
}

std::int64_t offset_of(const Ints& at, const Ints& strides) {
  std::int64_t offset = 0;
  for (int i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
  return offset;
}

template <Copy kCopy>
Status pad(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Paddings paddings, read_paddings(c.input(1), x.shape().rank(), "Pad"));
  if (c.num_inputs() == 3 && c.input(2).elements() != 1) {
    return invalid_argument("PadV2: constant_values must be a scalar, not of shape ", c.input(2).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, padded(x.shape(), paddings, "Pad"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() != x.elements()) {
    if (c.num_inputs() == 3) {
      fill_elements(*y, c.input(2).raw());
    } else {
      fill_zeros(*y);
    }
  }
  if (x.elements() == 0) return ok_status();
  const Ints to = row_major(shape.sizes());
  kCopy(*y, offset_of(paddings.before, to), x, 0, {Ints(x.shape().sizes()), to, row_major(x.shape().sizes())});
  return ok_status();
}

// Mirrors, one axis after the other: the slab before the centre of `axis`, then the one behind it. Axes already done
// count with their frames, axes to come with their centre only; so corners come out right. Calls
// fn(region, frame_offset, centre_offset) with region.to walking the frame, region.from the centre.
template <typename Fn>
void mirror_axis(const Shape& centre, const Shape& whole, const Paddings& paddings, int axis, bool reflect, Fn&& fn) {
  const Ints strides = row_major(whole.sizes());
  Ints begin, sizes;
  for (int i = 0; i < centre.rank(); ++i) {
    begin.push_back(i < axis ? 0 : paddings.before[i]);
    sizes.push_back(i < axis ? whole[i] : centre[i]);
  }
  const std::int64_t edge = reflect ? 1 : 0;
  for (const bool after : {false, true}) {
    const std::int64_t n = after ? paddings.after[axis] : paddings.before[axis];
    if (n == 0) continue;
    // Frame element k steps away from the centre mirrors the centre element k + edge steps inside.
    Ints frame = begin;
    frame[axis] = after ? paddings.before[axis] + centre[axis] : paddings.before[axis] - 1;
    Ints source = begin;
    source[axis] = after ? paddings.before[axis] + centre[axis] - 1 - edge : paddings.before[axis] + edge;
    Region region{sizes, strides, strides};
    region.sizes[axis] = n;
    (after ? region.from : region.to)[axis] = -strides[axis];
    fn(region, offset_of(frame, strides), offset_of(source, strides));
  }
}

Status check_mirror(const Shape& centre, const Paddings& paddings, bool reflect, std::string_view op) {
  for (int i = 0; i < centre.rank(); ++i) {
    const std::int64_t most = centre[i] - (reflect ? 1 : 0);
    if (std::max(paddings.before[i], paddings.after[i]) > std::max<std::int64_t>(most, 0)) {
      return invalid_argument("paddings must be ", reflect ? "less than" : "no greater than",
                              " the dimension size: ", paddings.before[i], ", ", paddings.after[i],
                              reflect ? " not less than " : " greater than ", centre[i], ": ", op, ": paddings ",
                              paddings.before[i], " and ", paddings.after[i], " of axis ", i, " exceed the ", most,
                              " elements there are to mirror");
    }
  }
  return ok_status();
}

template <Copy kCopy>
class MirrorPad final : public Kernel {
 public:
  explicit MirrorPad(bool reflect) : reflect_(reflect) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MirrorPad>(init.attrs.get_string("mode") == "REFLECT"));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Paddings paddings, read_paddings(c.input(1), x.shape().rank(), "MirrorPad"));
    ARGOSY_RETURN_IF_ERROR(check_mirror(x.shape(), paddings, reflect_, "MirrorPad"));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, padded(x.shape(), paddings, "MirrorPad"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    const Ints to = row_major(shape.sizes());
    kCopy(*y, offset_of(paddings.before, to), x, 0, {Ints(x.shape().sizes()), to, row_major(x.shape().sizes())});
    for (int axis = 0; axis < shape.rank(); ++axis) {
      mirror_axis(
          x.shape(), shape, paddings, axis, reflect_,
          [&](const Region& region, std::int64_t frame, std::int64_t centre) { kCopy(*y, frame, *y, centre, region); });
    }
    return ok_status();
  }

 private:
  bool reflect_;
};

class MirrorPadGrad final : public Kernel {
 public:
  explicit MirrorPadGrad(bool reflect) : reflect_(reflect) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MirrorPadGrad>(init.attrs.get_string("mode") == "REFLECT"));
  }
  Status run(KernelContext& c) override {
    const Tensor& dy = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Paddings paddings, read_paddings(c.input(1), dy.shape().rank(), "MirrorPadGrad"));
    Ints sizes(dy.shape().sizes());
    for (int i = 0; i < sizes.size(); ++i) {
      const auto frame = checked_add(paddings.before[i], paddings.after[i]);
      if (!frame || *frame > sizes[i]) {
        return invalid_argument("MirrorPadGrad: paddings ", paddings.before[i], " and ", paddings.after[i],
                                " exceed axis ", i, " of ", dy.shape());
      }
      sizes[i] -= *frame;
    }
    const Shape shape(sizes.span());
    ARGOSY_RETURN_IF_ERROR(check_mirror(shape, paddings, reflect_, "MirrorPadGrad"));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    if (dx->elements() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(dy.bytes()));
    const Tensor sum(dy.dtype(), dy.shape(), std::move(memory));
    return dispatch<NumberTypes>(dy.dtype(), "MirrorPadGrad", [&]<typename T>() -> Status {
      std::memcpy(sum.raw(), dy.raw(), dy.bytes());
      T* const values = sum.data<T>();
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        mirror_axis(shape, dy.shape(), paddings, axis, reflect_,
                    [&](const Region& region, std::int64_t frame, std::int64_t centre) {
                      const RegionAxes axes({region.sizes, region.from, region.to}, 1);
                      if (axes.nothing) return;
                      walk(axes, values + centre, static_cast<const T*>(values + frame), 0, axes.product(),
                           [](T* t, const T* f) { *t = wrapping_add(*t, *f); });
                    });
      }
      const Ints from = row_major(dy.shape().sizes());
      copy_region(*dx, 0, sum, offset_of(paddings.before, from), {sizes, row_major(sizes.span()), from});
      return ok_status();
    });
  }

 private:
  bool reflect_;
};

std::optional<std::uint64_t> mirror_grad_bytes(const KernelInit& init) {
  return bytes_for(init.input_shapes[0], element_bytes(init.input_dtypes[0]));
}

}  // namespace

void add_pads(KernelRegistry& kernels) {
  for (const char* op : {"Pad", "PadV2"}) {
    kernels.add(op, "cpu", pad<copy_region>);
    kernels.add(op, "cpu", pad<copy_region_plainly>);
  }
  kernels.add("MirrorPad", "cpu", MirrorPad<copy_region>::make);
  kernels.add("MirrorPad", "cpu", MirrorPad<copy_region_plainly>::make);
  kernels.add("MirrorPadGrad", "cpu", with_workspace<MirrorPadGrad::make, mirror_grad_bytes>);
}

}  // namespace argosy
