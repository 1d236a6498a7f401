// TopK on a GPU. Indices of int32 are copied to the host, which waits for them.
#include <algorithm>
#include <limits>

#include "argosy/ops/gather/gather_registration.h"
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_top_k(KernelRegistry& kernels);

namespace {

constexpr const char* kModule = "top_k";
constexpr std::int64_t kThreads = 128;
constexpr std::int64_t kTile = 256;  // elements that a block sorts
constexpr std::int64_t kFew = 8;     // so many of a row are sooner found by going through it for each

cuda::LaunchShape row_grid(std::int64_t rows) {
  return {.grid = {.x = static_cast<unsigned>(std::min(rows, cuda::kMostBlocks))},
          .block = {.x = static_cast<unsigned>(kThreads)}};
}

// k, an attribute or an input in the host's memory.
class WithCount : public Kernel {
 public:
  WithCount(const KernelInit& init, bool capturable)
      : op_(init.op.name),
        k_(init.attrs.get_or<std::int64_t>("k", -1)),
        k_input_(init.attrs.find("k") == nullptr ? static_cast<int>(init.input_dtypes.size()) - 1 : -1),
        capturable_(capturable && cuda::reads_constants_only(init)) {}
  bool capturable() const override { return capturable_; }

 protected:
  Result<std::int64_t> count(const KernelContext& c) const {
    if (k_input_ < 0) return k_;
    const Tensor& k = c.input(k_input_);
    if (k.shape().rank() != 0) return invalid_argument(op_, ": k must be a scalar, not of shape ", k.shape());
    return read_int(k, str_cat(op_, ": k"));
  }
  const std::string op_;

 private:
  const std::int64_t k_;
  const int k_input_;
  const bool capturable_;
};

class TopK final : public WithCount {
 public:
  explicit TopK(const KernelInit& init) : WithCount(init, init.output_dtypes[1] == DType::kInt64) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<TopK>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t k, count(c));
    if (x.shape().rank() == 0) return invalid_argument("TopK: the input is a scalar, which has no axis");
    if (k < 0) return invalid_argument("TopK: k is ", k);
    const std::int64_t n = x.shape().back();
    if (n < k)
      return invalid_argument("input must have at least k columns. Had ", n, ", needed ", k,
                              ": TopK: the last axis of ", x.shape(), " has no ", k, " elements");
    const bool narrow = c.output_dtype(1) == DType::kInt32;
    if (narrow && n - 1 > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("TopK: places of ", n, " elements do not fit int32")
          .with_hint("ask for index_type int64");
    }
    const Shape shape = x.shape().with(x.shape().rank() - 1, k);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(0, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const places, c.output(1, shape));
    if (shape.elements() == 0) return ok_status();
    const std::int64_t rows = x.elements() / n;
    const std::string types = str_cat(cuda::type_suffix(x.dtype()), "_", cuda::type_suffix(c.output_dtype(1)));
    const auto start = [&](void* to) {
      if ((n > kTile && k <= kFew) || n > std::numeric_limits<std::int32_t>::max()) {
        return cuda::launch(c, {kModule, "select_top_" + types}, row_grid(rows), rows, n, k, x.raw(), values->raw(),
                            to);
      }
      return sort(c, types, rows, n, k, values->raw(), to);
    };
    if (!narrow) return start(places->raw());
    ARGOSY_ASSIGN_OR_RETURN(cuda::ToHost there, cuda::ToHost::of(c, *places));
    ARGOSY_RETURN_IF_ERROR(start(there.data()));
    return there.finish(c);
  }

 private:
  // Tiles, then runs of twice as many in each pass; the last one writes the outputs.
  static Status sort(KernelContext& c, const std::string& types, std::int64_t rows, std::int64_t n, std::int64_t k,
                     void* values, void* places) {
    const void* const x = c.input(0).raw();
    const auto none = static_cast<void*>(nullptr);
    Buffer orders[2];
    if (n > kTile) {
      for (Buffer& order : orders) {
        ARGOSY_ASSIGN_OR_RETURN(order, c.scratch(static_cast<std::size_t>(rows * n) * sizeof(std::int32_t)));
      }
    }
    void *from = orders[0].data(), *to = orders[1].data();
    const std::int64_t tiles = rows * ((n + kTile - 1) / kTile);
    const cuda::LaunchShape shape = {.grid = {.x = static_cast<unsigned>(std::min(tiles, cuda::kMostBlocks))},
                                     .block = {.x = static_cast<unsigned>(kTile)}};
    const bool at_once = n <= kTile;
    ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "sort_tiles_" + types}, shape, rows, n, k, x,
                                        at_once ? none : from, at_once ? values : none, at_once ? places : none));
    for (std::int64_t run = kTile; run < n; run *= 2) {
      const bool last = 2 * run >= n;
      const std::int64_t elements = rows * ((n + run - 1) / run) * std::min(run, k);
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {kModule, "merge_runs_" + types}, cuda::grid_for(elements), rows, run, n,
                                          k, x, static_cast<const void*>(from), last ? none : to, last ? values : none,
                                          last ? places : none));
      std::swap(from, to);
    }
    return ok_status();
  }
};

class InTopK final : public WithCount {
 public:
  explicit InTopK(const KernelInit& init) : WithCount(init, true) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<InTopK>(init));
  }
  Status run(KernelContext& c) override {
    const Tensor &predictions = c.input(0), &targets = c.input(1);
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t k, count(c));
    if (predictions.shape().rank() != 2 || targets.shape().rank() != 1 ||
        predictions.shape()[0] != targets.shape()[0]) {
      return invalid_argument("InTopK: predictions must be [batch, classes] and targets [batch], not of shape ",
                              predictions.shape(), " and ", targets.shape());
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, targets.shape()));
    ARGOSY_ASSIGN_OR_RETURN(const cuda::OnGpu on, cuda::OnGpu::of(c, 1));
    const std::int64_t rows = targets.elements(), n = predictions.shape()[1];
    return cuda::launch(c, {kModule, str_cat("in_top_", cuda::type_suffix(targets.dtype()))}, row_grid(rows), rows, n,
                        k, predictions.raw(), on.data(), y->raw());
  }
};

}  // namespace

void add_kernels_cuda_top_k(KernelRegistry& kernels) {
  using enum DType;
  const std::vector<DType> numbers = {kFloat32, kFloat64, kFloat16, kBfloat16, kInt64};
  kernels.add("TopK", "cuda", TopK::make, {{"T", numbers}});
  kernels.add("TopK", "cuda", cuda::make_on_host, {{"T", {kInt32}}});
  kernels.add("TopKV2", "cuda", TopK::make, {{"T", numbers}, {"index_type", {kInt32, kInt64}}});
  kernels.add("TopKV2", "cuda", cuda::make_on_host, {{"T", {kInt32}}, {"index_type", {kInt32}}});
  kernels.add("InTopK", "cuda", InTopK::make);
  kernels.add("InTopKV2", "cuda", InTopK::make);
}

}  // namespace argosy
