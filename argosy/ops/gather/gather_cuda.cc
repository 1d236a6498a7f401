// Gathers, their gradients, segment sums and one-hot rows on a GPU. Kernels read the indices and do not check them:
// rows out of bounds read as zeros.
#include "argosy/ops/gather/choice_inputs.h"
#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/scan/scan_inputs.h"

namespace argosy {

void add_kernels_cuda_scatters(KernelRegistry& kernels);
void add_kernels_cuda_top_k(KernelRegistry& kernels);
void add_kernels_cuda_where(KernelRegistry& kernels);

namespace {

constexpr const char* kModule = "gather";

// As in gather_cuda.cu.
struct GatherSizes {
  std::int64_t batch, outer, rows, slice, count;
};

GatherSizes sizes_of(const GatherGeometry& g) { return {g.batch, g.outer, g.rows, g.slice, g.count}; }

class Gather final : public Kernel, public cuda::TakesOnGpu<1> {
 public:
  explicit Gather(const KernelInit& init)
      : op_(init.op.name),
        batch_dims_(init.attrs.get_or<std::int64_t>("batch_dims", 0)),
        capturable_(cuda::reads_constants_only(init, {1})) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Gather>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor &params = c.input(0), &indices = c.input(1);
    std::int64_t axis = 0;
    if (c.num_inputs() > 2) {
      if (c.input(2).shape().rank() != 0) {
        return invalid_argument(op_, ": axis must be a scalar, not of shape ", c.input(2).shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(axis, read_int(c.input(2), "GatherV2: axis"));
    }
    ARGOSY_ASSIGN_OR_RETURN(const GatherGeometry g,
                            gather_geometry(op_, params.shape(), indices.shape(), axis, batch_dims_));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(g.sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    const cuda::MovedRows rows = cuda::moved_rows(params.dtype(), g.slice, {params.raw(), y->raw()});
    auto sizes = sizes_of(g);
    sizes.slice = rows.slice;
    const std::string kernel = str_cat("gather_b", rows.bytes, "_", cuda::type_suffix(indices.dtype()));
    return cuda::launch(c, {kModule, kernel}, cuda::grid_for(y->elements() / g.slice * rows.slice), sizes, params.raw(),
                        indices.raw(), y->raw());
  }

 private:
  const std::string op_;
  const std::int64_t batch_dims_;
  const bool capturable_;
};

// Adds dy to the rows of dx at `indices`; dx is zero before.
Status add_rows(KernelContext& c, const GatherSizes& g, const Tensor& dy, int indices, Tensor& dx) {
  const std::string suffix = str_cat(cuda::type_suffix(dx.dtype()), "_", cuda::type_suffix(c.input(indices).dtype()));
  const bool half = element_bytes(dx.dtype()) == 2;
  if (half || cuda::device_of(*c.device()).math().deterministic) {
    return cuda::launch(c, {kModule, "add_back_in_order_" + suffix}, cuda::grid_for(dx.elements()), g, dy.raw(),
                        c.input(indices).raw(), dx.raw());
  }
  cuda::GpuCopyEngine copy_engine(c);
  const double zero = 0;
  copy_engine.fill(dx.raw(), dx.elements(), element_bytes(dx.dtype()), &zero);
  ARGOSY_RETURN_IF_ERROR(copy_engine.status());
  return cuda::launch(c, {kModule, "add_back_" + suffix}, cuda::grid_for(dy.elements()), g, dy.raw(),
                      c.input(indices).raw(), dx.raw());
}

class GatherGrad final : public Kernel, public cuda::TakesOnGpu<1> {
 public:
  explicit GatherGrad(const KernelInit& init)
      : batch_dims_(init.attrs.get_int("batch_dims")), capturable_(cuda::reads_constants_only(init, {1})) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GatherGrad>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &indices = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, to_shape(c.input(2), "_GatherGrad: params_shape"));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t axis, read_int(c.input(3), "_GatherGrad: axis"));
    ARGOSY_ASSIGN_OR_RETURN(const GatherGeometry g,
                            gather_geometry("_GatherGrad", shape, indices.shape(), axis, batch_dims_));
    if (g.sizes != dy.shape().sizes()) {
      return invalid_argument("_GatherGrad: dy has shape ", dy.shape(), ", the gather ", g.sizes);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    return add_rows(c, sizes_of(g), dy, 1, *dx);
  }

 private:
  const std::int64_t batch_dims_;
  const bool capturable_;
};

// Sums rows of data by segment; ignores negative segments.
Status segment_sum(KernelContext& c) {
  const Tensor &data = c.input(0), &ids = c.input(1);
  constexpr std::string_view kOp = "UnsortedSegmentSum";
  if (c.input(2).shape().rank() != 0) {
    return invalid_argument(kOp, ": num_segments must be one number, not of shape ", c.input(2).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t segments, to_int64(c.input(2), kOp));
  const int rank = ids.shape().rank();
  bool fits = segments >= 0 && rank <= data.shape().rank();
  for (int i = 0; fits && i < rank; ++i) fits = ids.shape()[i] == data.shape()[i];
  if (!fits) {
    return invalid_argument(kOp, ": data of shape ", data.shape(), " and segment_ids of shape ", ids.shape(),
                            " do not fit ", segments, " segments");
  }
  std::vector<std::int64_t> sizes = {segments};
  for (int i = rank; i < data.shape().rank(); ++i) sizes.push_back(data.shape()[i]);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  return add_rows(c, {1, 1, segments, y->elements() / segments, ids.elements()}, data, 1, *y);
}

class OneHot final : public Kernel, public cuda::TakesOnGpu<0> {
 public:
  explicit OneHot(const KernelInit& init)
      : axis_(init.attrs.get_int("axis")), capturable_(cuda::reads_constants_only(init, {0})) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<OneHot>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor& indices = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const OneHotSizes sizes, check_one_hot(c, axis_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, sizes.output));
    if (y->elements() == 0) return ok_status();
    const std::string kernel =
        str_cat("one_hot_", cuda::size_suffix(y->dtype()), "_", cuda::type_suffix(indices.dtype()));
    return cuda::launch(c, {kModule, kernel}, cuda::grid_for(y->elements()), indices.elements(), sizes.depth,
                        sizes.inner, indices.raw(), c.input(2).raw(), c.input(3).raw(), y->raw());
  }

 private:
  const std::int64_t axis_;
  const bool capturable_;
};

class Scan final : public Kernel {
 public:
  explicit Scan(const KernelInit& init)
      : op_(init.op.name),
        kernel_(
            str_cat(op_ == "Cumsum" ? "running_sum_" : "running_product_", cuda::type_suffix(init.input_dtypes[0]))),
        exclusive_(init.attrs.get_bool("exclusive")),
        reverse_(init.attrs.get_bool("reverse")),
        capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Scan>(init));
  }
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const int axis, check_scan_axis(c, op_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
    if (x.elements() == 0) return ok_status();
    const ScanSizes n(x.shape(), axis);
    return cuda::launch(c, {kModule, kernel_}, cuda::grid_for(n.outer * n.inner), n.outer, n.count, n.inner, x.raw(),
                        y->raw(), exclusive_ ? 1 : 0, reverse_ ? 1 : 0);
  }

 private:
  const std::string op_, kernel_;
  const bool exclusive_, reverse_, capturable_;
};

}  // namespace

void add_kernels_cuda_gather(KernelRegistry& kernels) {
  using enum DType;
  add_kernels_cuda_scatters(kernels);
  add_kernels_cuda_top_k(kernels);
  add_kernels_cuda_where(kernels);
  const std::vector<DType> indices = {kInt32, kInt64};
  for (const char* op : {"Gather", "GatherV2"}) {
    kernels.add(op, "cuda", Gather::make, {{"Tparams", cuda::kGpuTypes}, {"Tindices", indices}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"Tparams", {kInt32}}, {"Tindices", {kInt32}}});
  }
  kernels.add("_GatherGrad", "cuda", GatherGrad::make, {{"T", cuda::kFloatingTypes}, {"Tindices", indices}});
  kernels.add("UnsortedSegmentSum", "cuda", cuda::make_launching<segment_sum, 1>,
              {{"T", cuda::kFloatingTypes}, {"Tindices", indices}});
  kernels.add("OneHot", "cuda", OneHot::make, {{"T", cuda::kGpuTypes}, {"TI", indices}});
  std::vector<DType> numbers = cuda::kFloatingTypes;
  numbers.push_back(kInt64);
  // Unique runs on the host: its outputs' shapes are the number of distinct elements, for which the host would wait in
  // any case.
  for (const char* op : {"Unique", "UniqueWithCounts"}) {
    kernels.add(op, "cuda", cuda::make_host_fallback, {{"T", cuda::kGpuTypes}});
    kernels.add(op, "cuda", cuda::make_host_fallback, {{"T", {kInt32}}, {"out_idx", {kInt64}}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"out_idx", {kInt32}}});
  }
  for (const char* op : {"Cumsum", "Cumprod"}) {
    kernels.add(op, "cuda", Scan::make, {{"T", numbers}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {kInt32}}});
  }
}

}  // namespace argosy
