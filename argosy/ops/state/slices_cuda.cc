// Slices of variables on a GPU: gathers and scatters. Work is launched under the variable's lock, so that the stream
// runs it after the work that others launched under that lock before.
#include <algorithm>

#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/gpu_slots.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/state/slices.h"

namespace argosy {

void add_kernels_cuda_slices(KernelRegistry& kernels);

namespace {

using cuda::GpuSlots;
using cuda::SlotPaths;

std::string_view name_of(const KernelContext& c) { return c.input(0).data<ResourceHandle>()->name(); }

Result<Tensor> variable_value(const KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
  if (v->dtype() != c.output_dtype(0)) {
    return invalid_argument("the variable is ", dtype_name(v->dtype()), ", not ", dtype_name(c.output_dtype(0)));
  }
  return v->read(name_of(c));
}

// Paths of as many indices as the last axis of `indices` has; checked by nd_result_shape.
SlotPaths paths_of(const Shape& indices, const Shape& variable, bool skip_bad) {
  const auto depth = static_cast<std::size_t>(indices.back());
  SlotPaths paths{.sizes = Ints(variable.sizes().first(depth)), .skip_bad = skip_bad};
  for (const std::int64_t size : variable.sizes().subspan(depth)) paths.slice *= size;
  return paths;
}

class SlicesKernel : public Kernel {
 public:
  explicit SlicesKernel(const KernelInit& init) : op_(init.op.name) {}
  // Variables may move.
  bool capturable() const override { return false; }

 protected:
  const std::string op_;
};

// As in gather_cuda.cu.
struct GatherSizes {
  std::int64_t batch, outer, rows, slice, count;
};

class Gather final : public SlicesKernel {
 public:
  explicit Gather(const KernelInit& init)
      : SlicesKernel(init), batch_dims_(init.attrs.get_or<std::int64_t>("batch_dims", 0)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Gather>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Tensor from, variable_value(c));
    if (op_ == "ResourceGatherNd") return by_paths(c, from);
    const Tensor& indices = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const GatherGeometry g,
                            gather_geometry(op_, from.shape(), indices.shape(), batch_dims_, batch_dims_));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(g.sizes.span()));
    if (indices.dtype() == DType::kInt32) {
      const auto rows = indices.values<std::int32_t>();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] >= 0 && rows[i] < g.rows) continue;
        return invalid_argument("indices[", i, "] = ", rows[i], " is not in [0, ", g.rows, ")")
            .with_id("ARG-INDEX-001");
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu on, cuda::OnGpu::of(c, 1));
    const cuda::MovedRows moved = cuda::moved_rows(from.dtype(), g.slice, {from.raw(), y->raw()});
    const std::string kernel = str_cat("gather_b", moved.bytes, "_", cuda::type_suffix(indices.dtype()));
    return cuda::launch(c, {"gather", kernel}, cuda::grid_for(y->elements() / g.slice * moved.slice),
                        GatherSizes{g.batch, g.outer, g.rows, moved.slice, g.count}, from.raw(), on.data(), y->raw());
  }

 private:
  Status by_paths(KernelContext& c, const Tensor& from) const {
    const Shape& indices = c.input(1).shape();
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, state::nd_result_shape(indices, from.shape()));
    if (from.elements() == 0 && c.input(1).elements() > 0) {
      return invalid_argument("Requested more than 0 entries, but params is empty.  Params shape: ", from.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots,
                            GpuSlots::of(c, op_, 1, paths_of(indices, from.shape(), false), false));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    return cuda::gather_slices(c, slots, from.dtype(), from.raw(), y->raw());
  }

  const std::int64_t batch_dims_;
};

constexpr std::string_view kUpdates[] = {"Update", "Add", "Sub", "Mul", "Div", "Min", "Max"};

class Scatter final : public SlicesKernel {
 public:
  explicit Scatter(const KernelInit& init)
      : SlicesKernel(init),
        nd_(op_.find("ScatterNd") != std::string::npos),
        skip_bad_(init.attrs.get_or<std::string>("bad_indices_policy", "") == "IGNORE"),
        how_(*std::find_if(std::begin(kUpdates), std::end(kUpdates),
                           [&](std::string_view how) { return op_.ends_with(how); })) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Scatter>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const v, c.variable(0));
    if (v->dtype() != c.input(2).dtype()) {
      return invalid_argument("variable ", name_of(c), " is ", dtype_name(v->dtype()), ", the updates are ",
                              dtype_name(c.input(2).dtype()));
    }
    ARGOSY_RETURN_IF_ERROR(v->update(name_of(c), [&](Tensor& variable) { return update(c, variable); }));
    if (c.num_outputs() > 0) c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  Status update(KernelContext& c, const Tensor& variable) const {
    const Shape &indices = c.input(1).shape(), &v = variable.shape();
    const Tensor& updates = c.input(2);
    if (!nd_ && v.rank() < 1) {
      return invalid_argument("a scatter needs a variable of at least one axis, not shape ", v);
    }
    Shape wanted;
    if (nd_) {
      ARGOSY_ASSIGN_OR_RETURN(wanted, state::nd_result_shape(indices, v));
    } else {
      std::vector<std::int64_t> sizes(indices.sizes().begin(), indices.sizes().end());
      sizes.insert(sizes.end(), v.sizes().begin() + 1, v.sizes().end());
      ARGOSY_ASSIGN_OR_RETURN(wanted, Shape::make(sizes));
    }
    const bool one_value = !nd_ && updates.shape().rank() == 0;
    if (!one_value && !(updates.shape() == wanted)) {
      return invalid_argument("updates of shape ", updates.shape(), " do not fit indices of shape ", indices,
                              " into a variable of shape ", v)
          .with_id("ARG-SHAPE-007");
    }
    const SlotPaths paths = nd_ ? paths_of(indices, v, skip_bad_) : cuda::paths_to_rows(v);
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, op_, 1, paths, true));
    return cuda::update_slices(c, slots, variable.dtype(), {.how = how_, .one_value = one_value}, updates.raw(),
                               variable.raw());
  }

  const bool nd_, skip_bad_;
  const std::string_view how_;
};

}  // namespace

void add_kernels_cuda_slices(KernelRegistry& kernels) {
  const std::vector<DType> indices = {DType::kInt32, DType::kInt64};
  for (const char* op : {"ResourceGather", "ResourceGatherNd"}) {
    kernels.add(op, "cuda", Gather::make, {{"dtype", cuda::kGpuTypes}, {"Tindices", indices}});
  }
  for (const std::string_view how : kUpdates) {
    const std::vector<DType>& dtypes = how == "Update" ? cuda::kGpuTypes
                                       : how == "Div"  ? cuda::kFloatingTypes
                                                       : cuda::kSliceNumbers;
    kernels.add(str_cat("Scatter", how), "cuda", Scatter::make, {{"T", dtypes}, {"Tindices", indices}});
    kernels.add(str_cat("ResourceScatter", how), "cuda", Scatter::make, {{"dtype", dtypes}, {"Tindices", indices}});
    if (how == "Mul" || how == "Div") continue;
    for (const char* prefix : {"ScatterNd", "ResourceScatterNd"}) {
      kernels.add(str_cat(prefix, how), "cuda", Scatter::make, {{"T", dtypes}, {"Tindices", indices}});
    }
  }
}

}  // namespace argosy
