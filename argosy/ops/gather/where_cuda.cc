// Where on a GPU. The number of non-zero elements is in the output's shape, so the host waits for it.
#include <array>

#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_where(KernelRegistry& kernels);

namespace {

// As in where_cuda.cu.
constexpr std::int64_t kPart = 4096;
struct Sizes {
  static constexpr int kMaxRank = 8;
  int rank;
  std::array<std::int64_t, kMaxRank> sizes;
};

class Where final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Where>(cuda::number_suffix(init.input_dtypes[0])));
  }
  explicit Where(std::string_view suffix) : suffix_(suffix) {}
  bool capturable() const override { return false; }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const int rank = x.shape().rank();
    if (rank == 0) return invalid_argument("Where: a scalar has no places to tell; give it an axis");
    if (rank > Sizes::kMaxRank) {
      return unimplemented("Where of rank ", rank, "; a GPU does ", Sizes::kMaxRank)
          .with_hint("place the node on a CPU");
    }
    const std::int64_t n = x.elements(), parts = (n + kPart - 1) / kPart;
    Sizes sizes{rank, {}};
    for (int i = 0; i < rank; ++i) sizes.sizes[static_cast<std::size_t>(i)] = x.shape()[i];
    std::int64_t found = 0;
    Buffer counts;
    const cuda::LaunchShape blocks = cuda::grid_for(parts * cuda::kBlock);
    if (n > 0) {
      ARGOSY_ASSIGN_OR_RETURN(counts, c.scratch(static_cast<std::size_t>(parts + 1) * sizeof(std::int64_t)));
      ARGOSY_RETURN_IF_ERROR(
          cuda::launch(c, {"where", "where_count_" + suffix_}, blocks, n, parts, x.raw(), counts.data()));
      ARGOSY_RETURN_IF_ERROR(cuda::launch(c, {"where", "where_add_up"}, cuda::grid_for(1), parts, counts.data()));
      const auto* const all = reinterpret_cast<const std::int64_t*>(counts.data()) + parts;
      ARGOSY_RETURN_IF_ERROR(cuda::device_of(*c.device()).download(&found, all, sizeof found));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({found, rank})));
    if (y->elements() == 0) return ok_status();
    return cuda::launch(c, {"where", "where_write_" + suffix_}, blocks, n, parts, x.raw(), counts.data(), y->raw(),
                        sizes);
  }

 private:
  const std::string suffix_;
};

}  // namespace

void add_kernels_cuda_where(KernelRegistry& kernels) {
  using enum DType;
  kernels.add(
      "Where", "cuda", Where::make,
      {{"T", {kFloat32, kFloat64, kFloat16, kBfloat16, kInt8, kInt64, kUint8, kBool, kComplex64, kComplex128}}});
}

}  // namespace argosy
