// Kernels of samples whose parameters broadcast together.
#include "argosy/ops/distribution/draws.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

namespace {

// Returns the result's shape, which must end with `batch`, the shape that the parameters broadcast to. Messages are
// TensorFlow's.
Result<Shape> result_shape(const Tensor& sizes, const Shape& batch) {
  if (sizes.shape().rank() != 1) return invalid_argument("Input shape should be a vector, got shape: ", sizes.shape());
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(sizes));
  bool fits = batch.rank() <= shape.rank();
  for (int i = 1; fits && i <= batch.rank(); ++i) fits = batch[batch.rank() - i] == shape[shape.rank() - i];
  if (!fits) {
    return invalid_argument("Shape passed in must end with broadcasted shape. Here ", shape, " must end with ", batch);
  }
  return shape;
}

Result<Shape> batch_shape(KernelContext& c, int first, const char* names) {
  Shape batch = c.input(first).shape();
  for (int i = first + 1; i < c.num_inputs(); ++i) {
    Result<Shape> both = broadcast(batch, c.input(i).shape());
    if (!both.ok()) {
      std::string shapes;
      for (int k = first; k < c.num_inputs(); ++k)
        shapes += str_cat(k > first ? " vs. " : "", c.input(k).shape().to_string());
      return invalid_argument(names, " must have compatible batch dimensions: ", shapes);
    }
    batch = *std::move(both);
  }
  return batch;
}

Status truncated_normal_between(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape batch, batch_shape(c, 2, "means, stddevs, minvals, maxvals"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, result_shape(c.input(0), batch));
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return shape.elements() == 0 ? ok_status() : distribution::draw_truncated_normal(c, *y, batch, from);
}

Status binomial(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape batch, batch_shape(c, 2, "counts and probs"));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, result_shape(c.input(0), batch));
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(1)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (shape.elements() == 0) return ok_status();
  return distribution::draw_binomial(c, c.input(2), c.input(3), *y, batch, from);
}

// A generator moves on as if every sample took this many tries: TensorFlow's number.
constexpr std::uint64_t kTries = 100;

class BinomialOfGenerator final : public Kernel {
 public:
  explicit BinomialOfGenerator(const OpDef& op) : op_(op) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<BinomialOfGenerator>(init.op));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape batch, batch_shape(c, 3, "counts and probs"));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, result_shape(c.input(2), batch));
    ARGOSY_RETURN_IF_ERROR(distribution::check_algorithm(op_, c.input(1)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const auto rows = static_cast<std::uint64_t>(batch.elements());
    const std::uint64_t per_row = rows == 0 ? 0 : static_cast<std::uint64_t>(shape.elements()) / rows;
    const std::uint64_t blocks = rows * 2 * kTries * (per_row + 3) / 4 * distribution::kBlocksPerElement;
    ARGOSY_ASSIGN_OR_RETURN(const Philox from, distribution::advance(c, op_, blocks));
    if (shape.elements() == 0) return ok_status();
    return distribution::draw_binomial(c, c.input(3), c.input(4), *y, batch, from);
  }

 private:
  const OpDef& op_;
};

}  // namespace

void add_broadcast_samples(KernelRegistry& kernels) {
  kernels.add("StatelessParameterizedTruncatedNormal", "cpu", truncated_normal_between);
  kernels.add("StatelessRandomBinomial", "cpu", binomial);
  kernels.add("StatefulRandomBinomial", "cpu", BinomialOfGenerator::make);
}

}  // namespace argosy
