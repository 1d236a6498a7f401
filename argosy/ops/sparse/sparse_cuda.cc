// Sparse ops on a GPU: segment reductions of gathered rows, products with dense matrices, sparse to dense.
#include <algorithm>
#include <cmath>

#include "argosy/ops/gather/choice_inputs.h"
#include "argosy/ops/gather/gpu_slots.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"
#include "argosy/ops/sparse/sparse_product.h"

namespace argosy {

namespace {

using cuda::GpuSlots;
using cuda::SlotPaths;

constexpr const char* kModule = "sparse";

int how_of(std::string_view op) { return op.find("Mean") != op.npos ? 1 : op.find("SqrtN") != op.npos ? 2 : 0; }

std::string_view index_suffix(DType dtype) { return dtype == DType::kInt32 ? "i32" : "i64"; }

Status check_chosen(const KernelContext& c) {
  if (c.input(1).shape().rank() != 1 || c.input(2).shape() != c.input(1).shape()) {
    return invalid_argument("indices and segment_ids must be vectors of one length, not of shapes ", c.input(1).shape(),
                            " and ", c.input(2).shape());
  }
  if (c.input(0).shape().rank() < 1) return invalid_argument("input must be at least rank 1");
  return ok_status();
}
std::int64_t width_of(const Shape& rows) {
  std::int64_t width = 1;
  for (int i = 1; i < rows.rank(); ++i) width *= rows[i];
  return width;
}
Status zero(KernelContext& c, const Tensor& y) {
  if (y.bytes() == 0) return ok_status();
  return cuda::device_of(*c.device()).fill(y.raw(), 1, 0, y.bytes());
}

// As in sparse_cuda.cu.
struct Chosen {
  std::int64_t segments, width, rows, count;
  int how;
};

class Segment final : public Kernel {
 public:
  // Ids that lie on the GPU say there how many segments they make: the host waits for the last of them.
  explicit Segment(const KernelInit& init)
      : how_(how_of(init.op.name)),
        capturable_(cuda::reads_constants_only(init) &&
                    (init.input_dtypes.size() > 3 || init.input_dtypes[2] == DType::kInt32)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Segment>(init));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    const Tensor &x = c.input(0), &rows = c.input(1), &ids = c.input(2);
    ARGOSY_RETURN_IF_ERROR(check_chosen(c));
    if (rows.dtype() == DType::kInt32) {
      const auto numbers = rows.values<std::int32_t>();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] >= 0 && numbers[i] < x.shape()[0]) continue;
        return invalid_argument("Bad: indices[", i, "] == ", numbers[i], " out of range [0, ", x.shape()[0], ")");
      }
    }
    std::int64_t segments = 0;
    if (ids.dtype() == DType::kInt32) {
      const auto numbers = ids.values<std::int32_t>();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] >= (i > 0 ? numbers[i - 1] : 0)) continue;
        return invalid_argument(i == 0 ? "segment ids must be >= 0" : "segment ids are not increasing");
      }
      if (!numbers.empty()) segments = numbers.back() + std::int64_t{1};
    } else if (c.num_inputs() == 3 && ids.elements() > 0) {
      std::int64_t last = 0;
      const std::int64_t* const from = ids.raw_as<std::int64_t>() + ids.elements() - 1;
      ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).download(&last, from, sizeof last));
      if (last < 0) return invalid_argument("segment ids must be >= 0");
      segments = last + 1;
    }
    if (c.num_inputs() > 3) {
      const std::int64_t least = segments;
      if (c.input(3).shape().rank() != 0) {
        return invalid_argument("num_segments should be a scalar, not of shape ", c.input(3).shape());
      }
      ARGOSY_ASSIGN_OR_RETURN(segments, to_int64(c.input(3), "num_segments"));
      if (segments < 0 || segments < least) {
        return invalid_argument("segment ids must be < num_segments: ", least - 1, " of ", segments);
      }
    }
    std::vector<std::int64_t> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    sizes[0] = segments;
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu rows_there, cuda::OnGpu::of(c, 1));
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu ids_there, cuda::OnGpu::of(c, 2));
    const std::string kernel = str_cat("sparse_segment_", cuda::type_suffix(x.dtype()), "_", index_suffix(rows.dtype()),
                                       "_", index_suffix(ids.dtype()));
    return cuda::launch(c, {kModule, kernel}, cuda::grid_for(y->elements()), x.raw(), rows_there.data(),
                        ids_there.data(), y->raw(),
                        Chosen{segments, width_of(shape), x.shape()[0], ids.elements(), how_});
  }

 private:
  const int how_;
  const bool capturable_;
};

// Of segment ids in the host's memory it is known here how much each choice counted for, and whether they lie inside.
class SegmentGrad final : public Kernel {
 public:
  explicit SegmentGrad(const KernelInit& init) : op_(init.op.name), capturable_(cuda::reads_constants_only(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<SegmentGrad>(init));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    const Tensor& dy = c.input(0);
    ARGOSY_RETURN_IF_ERROR(check_chosen(c));
    if (c.input(3).shape().rank() != 0) {
      return invalid_argument("output_dim0 should be a scalar, not of shape ", c.input(3).shape());
    }
    const std::int64_t rows = *c.input(3).data<std::int32_t>();
    if (rows < 0) return invalid_argument("output_dim0 must be non-negative, not ", rows);
    const bool here = c.input(2).dtype() == DType::kInt32;
    std::vector<float> weights;
    if (here) {
      ARGOSY_ASSIGN_OR_RETURN(weights, weights_of(c.input(2), dy.shape()[0]));
    }
    const bool compact = op_.ends_with("V2");
    Compact chosen{rows, {}};
    const std::int64_t width = width_of(dy.shape()), count = c.input(2).elements(), n = count * width;
    if (compact) {
      ARGOSY_ASSIGN_OR_RETURN(chosen, compact_rows(c, rows));
    }
    std::vector<std::int64_t> sizes(dy.shape().sizes().begin(), dy.shape().sizes().end());
    sizes[0] = chosen.rows;
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, shape));
    ARGOSY_RETURN_IF_ERROR(zero(c, *dx));
    for (std::int64_t& start : chosen.starts) start *= width;
    const SlotPaths paths{.sizes = {rows}, .slice = width};
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots,
                            compact ? GpuSlots::at(c, chosen.starts, width) : GpuSlots::of(c, op_, 1, paths, true));
    if (n == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const Buffer each, c.scratch(static_cast<std::size_t>(n) * element_bytes(dy.dtype())));
    ARGOSY_RETURN_IF_ERROR(here ? spread(c, n, width, weights, each) : spread_sorted(c, n, width, each));
    return cuda::update_slices(c, slots, dy.dtype(), {.how = "Add", .fresh = true}, each.data(), dx->raw());
  }

 private:
  Status spread(KernelContext& c, std::int64_t n, std::int64_t width, const std::vector<float>& weights,
                const Buffer& each) const {
    const Tensor& dy = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu ids, cuda::OnGpu::of(c, 2));
    ARGOSY_ASSIGN_OR_RETURN(const Buffer much, c.scratch(weights.size() * sizeof(float)));
    ARGOSY_RETURN_IF_ERROR(
        cuda::device_of(*c.device()).upload(much.data(), weights.data(), weights.size() * sizeof(float)));
    return cuda::launch(c, {kModule, str_cat("sparse_segment_spread_", cuda::type_suffix(dy.dtype()))},
                        cuda::grid_for(n), n, width, dy.raw(), ids.data(), much.data(), each.data());
  }
  // Of the ops that give only rows that were chosen, and say which (output 1): how many those are, and which of them
  // each choice is. Choices of int32 are known here.
  struct Compact {
    std::int64_t rows;
    std::vector<std::int64_t> starts;
  };
  static Result<Compact> compact_rows(KernelContext& c, std::int64_t rows) {
    const auto numbers = c.input(1).values<std::int32_t>();
    std::vector<std::int32_t> sorted(numbers.begin(), numbers.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (const std::int32_t row : sorted) {
      if (row < 0 || row >= rows) return invalid_argument("Index ", row, " out of range of output_dim0 ", rows);
    }
    const auto count = static_cast<std::int64_t>(sorted.size());
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const which, c.output(1, {count}));
    std::copy(sorted.begin(), sorted.end(), which->data<std::int32_t>());
    Compact chosen{count, {}};
    for (const std::int32_t row : numbers) {
      chosen.starts.push_back(std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin());
    }
    return chosen;
  }
  Status spread_sorted(KernelContext& c, std::int64_t n, std::int64_t width, const Buffer& each) const {
    const Tensor &dy = c.input(0), &ids = c.input(2);
    return cuda::launch(c, {kModule, str_cat("sparse_segment_spread_sorted_", cuda::type_suffix(dy.dtype()))},
                        cuda::grid_for(n), n, dy.raw(), ids.raw(), each.data(),
                        Chosen{dy.shape()[0], width, 0, ids.elements(), how_of(op_)});
  }
  Result<std::vector<float>> weights_of(const Tensor& ids, std::int64_t segments) const {
    const auto numbers = ids.values<std::int32_t>();
    std::vector<std::int64_t> counts(static_cast<std::size_t>(segments), 0);
    for (const std::int32_t id : numbers) {
      if (id < 0 || id >= segments) return invalid_argument("Segment id ", id, " out of range [0, ", segments, ")");
      ++counts[static_cast<std::size_t>(id)];
    }
    std::vector<float> weights;
    const int how = how_of(op_);
    for (const std::int32_t id : numbers) {
      const auto n = static_cast<double>(counts[static_cast<std::size_t>(id)]);
      weights.push_back(static_cast<float>(how == 0 ? 1.0 : how == 1 ? 1.0 / n : 1.0 / std::sqrt(n)));
    }
    return weights;
  }

  const std::string op_;
  const bool capturable_;
};

// As in sparse_cuda.cu.
struct SparseProduct {
  std::int64_t count, columns, inner;
  int column_at, turned;
};

Status matmul(KernelContext& c, const AttrMap& attrs) {
  const Tensor &indices = c.input(0), &values = c.input(1), &b = c.input(3);
  ARGOSY_ASSIGN_OR_RETURN(const sparse::SparseProductSizes sizes, sparse::check_sparse_product(c, attrs));
  const bool ta = sizes.adjoint_a, tb = sizes.adjoint_b;
  const std::int64_t k = sizes.k, n = sizes.n;
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::array{sizes.m, n}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  ARGOSY_RETURN_IF_ERROR(zero(c, *y));
  // An entry's slot is the row of the product that it adds to; both of its indices are looked at.
  SlotPaths paths{.sizes = {sizes.a[0], sizes.a[1]}, .slice = n};
  paths.strides = ta ? Ints{0, n} : Ints{n, 0};
  paths.skip_bad = indices.dtype() != DType::kInt32;
  ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, "SparseTensorDenseMatMul", 0, paths, true));
  if (slots.count() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu there, cuda::OnGpu::of(c, 0));
  const std::string kernel =
      str_cat("sparse_product_", cuda::type_suffix(b.dtype()), "_", index_suffix(indices.dtype()));
  return cuda::launch(c, {kModule, kernel}, cuda::grid_for(slots.count() * n), slots.data(), there.data(), values.raw(),
                      b.raw(), y->raw(), SparseProduct{slots.count(), n, k, ta ? 0 : 1, tb ? 1 : 0});
}

Status to_dense(KernelContext& c, const AttrMap& attrs) {
  const Tensor &indices = c.input(0), &values = c.input(2);
  ARGOSY_ASSIGN_OR_RETURN(const DensePlaces places, check_sparse_to_dense(c));
  const std::int64_t n = places.count, depth = places.depth;
  if (attrs.get_bool("validate_indices") && indices.dtype() == DType::kInt32) {
    // Sorted and without repeats.
    const auto numbers = indices.values<std::int32_t>();
    for (std::int64_t i = 1; i < n; ++i) {
      const auto before = numbers.subspan(static_cast<std::size_t>((i - 1) * depth), static_cast<std::size_t>(depth));
      const auto here = numbers.subspan(static_cast<std::size_t>(i * depth), static_cast<std::size_t>(depth));
      if (std::lexicographical_compare(before.begin(), before.end(), here.begin(), here.end())) continue;
      return invalid_argument("SparseToDense: sparse_indices[", i, "] is repeated or out of order");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, places.output));
  if (y->elements() == 0 && indices.dtype() != DType::kInt32) return ok_status();
  cuda::GpuCopyEngine copy_engine(c);
  copy_engine.fill(y->raw(), y->elements(), element_bytes(y->dtype()), c.input(3).raw());
  ARGOSY_RETURN_IF_ERROR(copy_engine.status());
  const SlotPaths paths{.sizes = places.sizes, .skip_bad = indices.dtype() != DType::kInt32};
  ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, "SparseToDense", 0, paths, true));
  if (y->elements() == 0) return ok_status();
  return cuda::update_slices(c, slots, y->dtype(), {.how = "Update", .one_value = values.shape().rank() == 0},
                             values.raw(), y->raw());
}

}  // namespace

void add_kernels_cuda_sparse(KernelRegistry& kernels) {
  using enum DType;
  const std::vector<DType> indices = {kInt32, kInt64};
  for (const std::string op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    kernels.add(op, "cuda", Segment::make, {{"T", cuda::kFloatingTypes}, {"Tidx", indices}, {"Tsegmentids", indices}});
    kernels.add(op + "WithNumSegments", "cuda", Segment::make,
                {{"T", cuda::kFloatingTypes}, {"Tidx", indices}, {"Tsegmentids", indices}});
    kernels.add(op + "Grad", "cuda", SegmentGrad::make,
                {{"T", cuda::kFloatingTypes}, {"Tidx", indices}, {"Tsegmentids", indices}});
    kernels.add(op + "GradV2", "cuda", SegmentGrad::make,
                {{"T", cuda::kFloatingTypes}, {"Tidx", {kInt32}}, {"Tsegmentids", indices}});
  }
  kernels.add("SparseTensorDenseMatMul", "cuda", cuda::make_launching<matmul>,
              {{"T", cuda::kFloatingTypes}, {"Tindices", indices}});
  kernels.add("SparseToDense", "cuda", cuda::make_launching<to_dense>, {{"T", cuda::kGpuTypes}, {"Tindices", indices}});
  kernels.add("SparseToDense", "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"Tindices", {kInt32}}});
}

}  // namespace argosy
