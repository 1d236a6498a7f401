#include <cstring>

#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"
#include "argosy/ops/layout/strided/strided_view.h"

namespace argosy {

namespace {

template <Copy kCopy>
Status slice(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const Ints begin, read_ints(c.input(1), "Slice: begin"));
  ARGOSY_ASSIGN_OR_RETURN(const Ints size, read_ints(c.input(2), "Slice: size"));
  const int rank = x.shape().rank();
  if (c.input(1).shape().rank() != 1 || c.input(2).shape().rank() != 1 || begin.size() != rank || size.size() != rank) {
    return invalid_argument("Expected begin and size arguments to be 1-D tensors of size ", rank, ", but got shapes ",
                            c.input(1).shape(), " and ", c.input(2).shape(), " instead");
  }
  Ints sizes = Ints::filled(rank, 0);
  for (int i = 0; i < rank; ++i) {
    if (begin[i] < 0 || begin[i] > x.shape()[i]) {
      return invalid_argument("Expected begin[", i, "] in [0, ", x.shape()[i], "], but got ", begin[i],
                              ": Slice: begin[", i, "] is ", begin[i], ", outside [0, ", x.shape()[i], "]");
    }
    const std::int64_t rest = x.shape()[i] - begin[i];
    sizes[i] = size[i] == -1 ? rest : size[i];
    if (sizes[i] < 0 || sizes[i] > rest) {
      return invalid_argument("Expected size[", i, "] in [0, ", rest, "], but got ", size[i], ": Slice: size[", i,
                              "] is ", size[i], ", outside [-1, ", rest, "]");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(sizes.span())));
  Region region{sizes, row_major(sizes.span()), row_major(x.shape().sizes())};
  std::int64_t offset = 0;
  for (int i = 0; i < rank; ++i) offset += begin[i] * region.from[i];
  kCopy(*y, 0, x, offset, region);
  return ok_status();
}

Result<Ints> index_vector(KernelContext& c, int i, std::string_view what) {
  if (c.input(i).shape().rank() != 1) {
    return invalid_argument(what, " must be a vector, not of shape ", c.input(i).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Ints values, read_ints(c.input(i), what));
  // The smallest int64 stands for "unknown" in resolve_strided_slice; its neighbour is out of every range alike.
  for (std::int64_t& v : values) v = std::max(v, kUnknownIndex + 1);
  return values;
}

}  // namespace

Result<StridedSliceView> read_strided_view(KernelContext& c, std::string_view op, const StridedSliceMasks& masks,
                                           std::span<const std::int64_t> sizes, int first) {
  ARGOSY_ASSIGN_OR_RETURN(const Ints begin, index_vector(c, first, "begin"));
  ARGOSY_ASSIGN_OR_RETURN(const Ints end, index_vector(c, first + 1, "end"));
  ARGOSY_ASSIGN_OR_RETURN(const Ints strides, index_vector(c, first + 2, "strides"));
  return resolve_strided_slice(op, sizes, begin, end, strides, masks);
}

std::int64_t place_view(const StridedSliceView& view, Ints& strides) {
  std::int64_t offset = 0;
  for (int i = 0; i < strides.size(); ++i) {
    if (view.sizes[i] == 0) return 0;
    offset += view.begin[i] * strides[i];
    // One element has no neighbour, and its stride may be anything.
    strides[i] = view.sizes[i] == 1 ? 0 : strides[i] * view.strides[i];
  }
  return offset;
}

namespace {

template <Copy kCopy>
class StridedSlice final : public Kernel {
 public:
  explicit StridedSlice(const AttrMap& attrs) : masks_(StridedSliceMasks::of(attrs)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<StridedSlice>(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const StridedSliceView view,
                            read_strided_view(c, "StridedSlice", masks_, x.shape().sizes(), 1));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(view.output_sizes.span())));
    Ints from = row_major(x.shape().sizes());
    const std::int64_t offset = place_view(view, from);
    kCopy(*y, 0, x, offset, {view.sizes, row_major(view.sizes.span()), from});
    return ok_status();
  }

 private:
  StridedSliceMasks masks_;
};

template <Copy kCopy>
class StridedSliceGrad final : public Kernel {
 public:
  explicit StridedSliceGrad(const AttrMap& attrs) : masks_(StridedSliceMasks::of(attrs)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<StridedSliceGrad>(init.attrs));
  }
  Status run(KernelContext& c) override {
    const Tensor& dy = c.input(4);
    if (c.input(0).shape().rank() != 1) {
      return invalid_argument("StridedSliceGrad: shape must be a vector, not of shape ", c.input(0).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(0), "StridedSliceGrad: shape"));
    ARGOSY_ASSIGN_OR_RETURN(const StridedSliceView view,
                            read_strided_view(c, "StridedSliceGrad", masks_, shape.sizes(), 1));
    if (Shape(view.output_sizes.span()) != dy.shape()) {
      return invalid_argument("StridedSliceGrad: dy has shape ", dy.shape(), ", the slice ",
                              Shape(view.output_sizes.span()));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    fill_zeros(*dx);
    Ints to = row_major(shape.sizes());
    const std::int64_t offset = place_view(view, to);
    kCopy(*dx, offset, dy, 0, {view.sizes, to, row_major(view.sizes.span())});
    return ok_status();
  }

 private:
  StridedSliceMasks masks_;
};

}  // namespace

void add_slices(KernelRegistry& kernels) {
  kernels.add("Slice", "cpu", slice<copy_region>);
  kernels.add("Slice", "cpu", slice<copy_region_plainly>);
  kernels.add("StridedSlice", "cpu", StridedSlice<copy_region>::make);
  kernels.add("StridedSlice", "cpu", StridedSlice<copy_region_plainly>::make);
  kernels.add("StridedSliceGrad", "cpu", StridedSliceGrad<copy_region>::make);
  kernels.add("StridedSliceGrad", "cpu", StridedSliceGrad<copy_region_plainly>::make);
}

}  // namespace argosy
