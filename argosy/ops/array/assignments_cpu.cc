#include "argosy/ops/array/array_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"
#include "argosy/ops/layout/strided/strided_view.h"

namespace argosy {

namespace {

class SliceAssign final : public Kernel {
 public:
  explicit SliceAssign(const KernelInit& init) : op_(init.op.name), masks_(StridedSliceMasks::of(init.attrs)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SliceAssign>(init));
  }

  Status run(KernelContext& c) override {
    if (op_ == "TensorStridedSliceUpdate") {
      const Tensor& x = c.input(0);
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
      if (y->raw() != x.raw()) copy_span(*y, 0, x, 0, x.elements());
      return assign(c, *y);
    }
    ARGOSY_ASSIGN_OR_RETURN(Variable* const variable, c.variable(0));
    ARGOSY_RETURN_IF_ERROR(variable->update(c.input(0).data<ResourceHandle>()->name(), [&](Tensor& value) -> Status {
      if (value.dtype() != c.input(4).dtype()) {
        return invalid_argument(op_, ": the variable holds ", dtype_name(value.dtype()), ", the value is ",
                                dtype_name(c.input(4).dtype()));
      }
      return assign(c, value);
    }));
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  // Assigns the value, which broadcasts to the slice; its leading axes of size 1 are ignored.
  Status assign(KernelContext& c, const Tensor& to) const {
    ARGOSY_ASSIGN_OR_RETURN(const StridedSliceView view, read_strided_view(c, op_, masks_, to.shape().sizes(), 1));
    const Tensor& value = c.input(4);
    const Shape& from = value.shape();
    const Ints& slice = view.output_sizes;
    const int extra = from.rank() - slice.size();
    bool fits = true;
    for (int i = 0; fits && i < from.rank(); ++i) {
      fits = from[i] == 1 || (i >= extra && from[i] == slice[i - extra]);
    }
    if (!fits) {
      return invalid_argument(op_, ": a value of shape ", from, " does not fit the slice ", Shape(slice.span()))
          .with_id("ARG-SHAPE-001");
    }
    Ints strides = row_major(to.shape().sizes());
    const std::int64_t offset = place_view(view, strides);
    copy_region(to, offset, value, 0, {view.sizes, strides, value_strides(view, slice, from)});
    return ok_status();
  }

  // Returns the stride in the value of each axis of the view. The output has the axes of the view, without those that
  // an index removes, and with new ones of size 1.
  Ints value_strides(const StridedSliceView& view, const Ints& slice, const Shape& from) const {
    const std::vector<std::int64_t> own = from.strides();
    const int extra = from.rank() - slice.size();
    Ints strides = Ints::filled(view.sizes.size(), 0);
    int axis = slice.size() - 1;
    for (int k = view.sizes.size() - 1; k >= 0; --k) {
      if (view.sizes[k] == 1) continue;  // one element: its stride may be anything
      while (axis >= 0 && slice[axis] == 1) --axis;
      const int in_value = axis + extra;
      if (axis >= 0 && in_value >= 0 && from[in_value] != 1) strides[k] = own[static_cast<std::size_t>(in_value)];
      --axis;
    }
    return strides;
  }

  const std::string op_;
  const StridedSliceMasks masks_;
};

}  // namespace

void add_array_assignments(KernelRegistry& kernels) {
  for (const char* op : {"TensorStridedSliceUpdate", "StridedSliceAssign", "ResourceStridedSliceAssign"}) {
    kernels.add(op, "cpu", SliceAssign::make);
  }
}

}  // namespace argosy
