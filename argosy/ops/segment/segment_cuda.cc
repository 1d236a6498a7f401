// Segment reductions on a GPU: scatters into an output that is filled with the value for empty segments.
// UnsortedSegmentSum is with the gathers, as it is their gradient.
#include <algorithm>
#include <limits>

#include "argosy/ops/gather/gpu_slots.h"
#include "argosy/ops/layout/strided/gpu_copy_engine.h"

namespace argosy {

namespace {

using cuda::GpuSlots;
using cuda::SlotPaths;

class Segments final : public Kernel {
 public:
  explicit Segments(const KernelInit& init)
      : op_(init.op.name), sorted_(op_.starts_with("Segment")), capturable_(cuda::reads_constants_only(init)) {
    for (const auto& [name, how] :
         {std::pair{"Sum", "Add"}, {"Mean", "Mean"}, {"Prod", "Mul"}, {"Max", "Max"}, {"Min", "Min"}}) {
      if (op_.ends_with(name)) how_ = how;
    }
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Segments>(init));
  }
  bool capturable() const override { return capturable_; }

  Status run(KernelContext& c) override {
    const Tensor &data = c.input(0), &ids = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t segments, sorted_ ? count_sorted(c) : count_unsorted(c));
    const int rank = ids.shape().rank();
    std::vector<std::int64_t> sizes = {segments};
    for (int i = rank; i < data.shape().rank(); ++i) sizes.push_back(data.shape()[i]);
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    ARGOSY_RETURN_IF_ERROR(fill_empty(c, *y));
    const SlotPaths paths{.sizes = {segments}, .slice = y->elements() / segments, .skip_bad = true};
    ARGOSY_ASSIGN_OR_RETURN(const GpuSlots slots, GpuSlots::of(c, op_, 1, paths, true));
    return cuda::update_slices(c, slots, data.dtype(), {.how = how_, .fresh = true}, data.raw(), y->raw());
  }

 private:
  Result<std::int64_t> count_sorted(KernelContext& c) const {
    const Tensor &data = c.input(0), &ids = c.input(1);
    if (data.shape().rank() == 0 || ids.shape().rank() != 1 || ids.elements() != data.shape()[0]) {
      return invalid_argument("segment ops want an id for each row: data ", data.shape(), ", segment_ids ",
                              ids.shape());
    }
    const auto numbers = ids.values<std::int32_t>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || (i > 0 && numbers[i] < numbers[i - 1])) {
        return invalid_argument("segment ids are not increasing: segment ids must ascend from 0, but id ", i, " is ",
                                numbers[i], i > 0 ? str_cat(" after ", numbers[i - 1]) : std::string());
      }
    }
    return numbers.empty() ? 0 : numbers.back() + std::int64_t{1};
  }

  static Result<std::int64_t> count_unsorted(KernelContext& c) {
    const Tensor &data = c.input(0), &ids = c.input(1);
    if (c.input(2).shape().rank() != 0) {
      return invalid_argument("num_segments must be one number, not of shape ", c.input(2).shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t segments, to_int64(c.input(2), "num_segments"));
    if (segments < 0) return invalid_argument("num_segments must not be negative: ", segments);
    bool fits = ids.shape().rank() <= data.shape().rank();
    for (int i = 0; fits && i < ids.shape().rank(); ++i) fits = ids.shape()[i] == data.shape()[i];
    if (!fits) {
      return invalid_argument("the shape of data, ", data.shape(), ", must start with that of segment_ids, ",
                              ids.shape());
    }
    if (ids.dtype() == DType::kInt32) {
      const auto numbers = ids.values<std::int32_t>();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] >= segments) {
          return invalid_argument("segment_ids[", i, "] = ", numbers[i], " is out of range [0, ", segments,
                                  "): segment id ", i, " is ", numbers[i], ", outside [0, ", segments, ")");
        }
      }
    }
    return segments;
  }

  // What a segment without rows gets: products 1; extremes of the unsorted ops the other end of the numbers; else 0.
  Status fill_empty(KernelContext& c, const Tensor& y) const {
    cuda::GpuCopyEngine copy_engine(c);
    ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(y.dtype(), op_, [&]<typename T>() {
      T value = T(0);
      if (how_ == "Mul") value = T(1);
      if constexpr (std::numeric_limits<T>::is_specialized) {
        if (!sorted_ && how_ == "Max") value = std::numeric_limits<T>::lowest();
        if (!sorted_ && how_ == "Min") value = std::numeric_limits<T>::max();
      }
      copy_engine.fill(y.raw(), y.elements(), sizeof(T), &value);
      return ok_status();
    }));
    return copy_engine.status();
  }

  const std::string op_;
  const bool sorted_, capturable_;
  std::string_view how_;
};

}  // namespace

void add_kernels_cuda_segment(KernelRegistry& kernels) {
  using enum DType;
  // How many segments there are is known where the ids are: of the sorted ops, in the host's memory.
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    const bool mean = std::string_view(op) == "SegmentMean";
    kernels.add(op, "cuda", Segments::make,
                {{"T", mean ? cuda::kFloatingTypes : cuda::kSliceNumbers}, {"Tindices", {kInt32}}});
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"Tindices", {kInt32}}});
  }
  for (const char* op : {"UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    kernels.add(op, "cuda", Segments::make, {{"T", cuda::kSliceNumbers}, {"Tindices", {kInt32, kInt64}}});
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    kernels.add(op, "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"Tindices", {kInt32}}});
  }
}

}  // namespace argosy
