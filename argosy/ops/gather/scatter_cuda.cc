// Gathers and scatters by paths of indices, partitions and stitches on a GPU.
#include <algorithm>

#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gather/gpu_slots.h"
#include "argosy/ops/gather/partition_inputs.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

void add_kernels_cuda_scatters(KernelRegistry& kernels);

namespace {

using cuda::GpuSlots;
using cuda::SlotPaths;

// The slices that indices select in a tensor, and the shape of all of them: indices[:-1] + tensor[depth:].
struct Into {
  SlotPaths paths;
  Ints sizes;
};
Result<Into> paths_into(std::string_view op, const Shape& tensor, const Shape& indices, bool skip_bad) {
  if (indices.rank() == 0) return invalid_argument(op, ": indices must have rank 1 or more");
  const std::int64_t depth = indices.back();
  if (depth > tensor.rank()) {
    return invalid_argument(op, ": paths of ", depth, " indices into a tensor of shape ", tensor);
  }
  const auto leading = static_cast<std::size_t>(depth);
  Into into{.paths = {.sizes = Ints(tensor.sizes().first(leading)), .skip_bad = skip_bad},
            .sizes = Ints(indices.sizes().first(static_cast<std::size_t>(indices.rank()) - 1))};
  for (const std::int64_t size : tensor.sizes().subspan(leading)) into.paths.slice *= size;
  into.sizes.append(tensor.sizes().subspan(leading));
  return into;
}

class ByPaths : public Kernel {
 public:
  explicit ByPaths(const KernelInit& init)
      : op_(init.op.name),
        skip_bad_(init.attrs.get_string("bad_indices_policy") == "IGNORE"),
        capturable_(cuda::reads_constants_only(init)) {}
  bool capturable() const override { return capturable_; }

 protected:
  const std::string op_;
  const bool skip_bad_, capturable_;
};

class GatherNd final : public ByPaths {
 public:
  using ByPaths::ByPaths;
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<GatherNd>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& params = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const Into into, paths_into(op_, params.shape(), c.input(1).shape(), skip_bad_));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(into.sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, op_, 1, into.paths, false));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    return cuda::gather_slices(c, slots, params.dtype(), params.raw(), y->raw());
  }
};

// ScatterNd, into zeros, and the TensorScatter ops, into a copy of a tensor.
class Scatter final : public ByPaths {
 public:
  explicit Scatter(const KernelInit& init) : ByPaths(init), into_zeros_(op_ == "ScatterNd") {
    for (const char* how : {"Update", "Add", "Sub", "Max", "Min"}) {
      if (op_.ends_with(how)) how_ = how;
    }
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Scatter>(init));
  }
  Status run(KernelContext& c) override {
    const int indices = into_zeros_ ? 0 : 1;
    const Tensor& updates = c.input(indices + 1);
    Shape shape;
    if (into_zeros_) {
      if (c.input(2).shape().rank() != 1) {
        return invalid_argument(op_, ": shape must be a vector, not of shape ", c.input(2).shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, read_ints(c.input(2), "ScatterNd: shape"));
      ARGOSY_ASSIGN_OR_RETURN(shape, Shape::make(sizes.span()));
    } else {
      shape = c.input(0).shape();
      if (shape.rank() == 0) return invalid_argument(op_, ": tensor must have rank 1 or more");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Into into, paths_into(op_, shape, c.input(indices).shape(), skip_bad_));
    if (into.sizes != updates.shape().sizes()) {
      return invalid_argument(op_, ": updates have shape ", updates.shape(), ", the indices point at ", into.sizes);
    }
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, op_, indices, into.paths, true));
    Tensor* y = nullptr;
    if (into_zeros_) {
      ARGOSY_ASSIGN_OR_RETURN(y, c.output(0, shape));
      cuda::GpuCopyEngine copy_engine(c);
      const Bytes16 zero{};
      copy_engine.fill(y->raw(), y->elements(), element_bytes(y->dtype()), &zero);
      ARGOSY_RETURN_IF_ERROR(copy_engine.status());
    } else {
      ARGOSY_ASSIGN_OR_RETURN(y, c.output(0, shape, {0}));
      if (y->raw() != c.input(0).raw() && y->bytes() > 0) {
        ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).copy(y->raw(), c.input(0).raw(), y->bytes()));
      }
    }
    if (updates.elements() == 0) return ok_status();
    return cuda::update_slices(c, slots, y->dtype(), {.how = how_}, updates.raw(), y->raw());
  }

 private:
  const bool into_zeros_;
  std::string_view how_ = "Add";
};

// The host knows where each row goes: partitions are int32.
Status dynamic_partition(KernelContext& c) {
  const Tensor &data = c.input(0), &partitions = c.input(1);
  const int n = c.num_outputs();
  ARGOSY_RETURN_IF_ERROR(check_partitions(c));
  const auto numbers = partitions.values<std::int32_t>();
  const auto behind = data.shape().sizes().subspan(static_cast<std::size_t>(partitions.shape().rank()));
  std::int64_t row = 1;
  for (const std::int64_t size : behind) row *= size;
  std::vector<std::vector<std::int64_t>> starts(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    starts[static_cast<std::size_t>(numbers[i])].push_back(static_cast<std::int64_t>(i) * row);
  }
  for (int i = 0; i < n; ++i) {
    const auto& rows = starts[static_cast<std::size_t>(i)];
    Ints sizes = {static_cast<std::int64_t>(rows.size())};
    sizes.append(behind);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const piece, c.output(i, Shape(sizes.span())));
    if (piece->elements() == 0) continue;
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::at(c, rows, row));
    ARGOSY_RETURN_IF_ERROR(cuda::gather_slices(c, slots, data.dtype(), data.raw(), piece->raw()));
  }
  return ok_status();
}

Status dynamic_stitch(KernelContext& c) {
  const int n = c.num_inputs() / 2;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, check_stitch(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  cuda::GpuCopyEngine copy_engine(c);
  const Bytes16 zero{};
  copy_engine.fill(y->raw(), y->elements(), element_bytes(y->dtype()), &zero);  // rows that nobody gives
  ARGOSY_RETURN_IF_ERROR(copy_engine.status());
  const std::int64_t row = y->elements() / shape[0];
  for (int i = 0; i < n; ++i) {
    std::vector<std::int64_t> starts;
    for (const std::int32_t index : c.input(i).values<std::int32_t>()) starts.push_back(index * row);
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::at(c, starts, row));
    ARGOSY_RETURN_IF_ERROR(
        cuda::update_slices(c, slots, y->dtype(), {.how = "Update"}, c.input(n + i).raw(), y->raw()));
  }
  return ok_status();
}

}  // namespace

void add_kernels_cuda_scatters(KernelRegistry& kernels) {
  const std::vector<DType> indices = {DType::kInt32, DType::kInt64};
  kernels.add("GatherNd", "cuda", GatherNd::make, {{"Tparams", cuda::kGpuTypes}, {"Tindices", indices}});
  kernels.add("ScatterNd", "cuda", Scatter::make, {{"T", cuda::kSliceNumbers}, {"Tindices", indices}});
  kernels.add("TensorScatterUpdate", "cuda", Scatter::make, {{"T", cuda::kGpuTypes}, {"Tindices", indices}});
  for (const char* op :
       {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "ScatterNdNonAliasingAdd"}) {
    kernels.add(op, "cuda", Scatter::make, {{"T", cuda::kSliceNumbers}, {"Tindices", indices}});
  }
  for (const char* op : {"ScatterNd", "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax",
                         "TensorScatterMin", "ScatterNdNonAliasingAdd"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}, {"Tindices", {DType::kInt32}}});
  }
  kernels.add("GatherNd", "cuda", cuda::make_on_host, {{"Tparams", {DType::kInt32}}, {"Tindices", {DType::kInt32}}});
  kernels.add("DynamicPartition", "cuda", cuda::make_launching<dynamic_partition>, {{"T", cuda::kGpuTypes}});
  kernels.add("DynamicPartition", "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    kernels.add(op, "cuda", cuda::make_launching<dynamic_stitch>, {{"T", cuda::kGpuTypes}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {DType::kInt32}}});
  }
}

}  // namespace argosy
