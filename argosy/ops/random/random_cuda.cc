// Random numbers on a card: the stream's place is the host's, the numbers are made there. Seeds of int64 are read there
// as well, so that steps which draw by the step's number are recorded (argosy/runtime/stretches.h).
#include "argosy/ops/launching.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/op_stream.h"
#include "argosy/ops/random/sample.h"
#include "argosy/ops/random/share.h"

namespace argosy {

namespace {

// As in random_cuda.cu.
struct Stream {
  std::uint32_t key[2];
  std::uint32_t counter[4];
};

constexpr const char* kNames[] = {"random_uniform_", "random_normal_", "random_truncated_"};  // by Distribution

struct Runs {
  std::int64_t first, n, count, step;
};

// Elements that a block of the stream gives.
std::int64_t group_of(DType dtype) { return dtype == DType::kFloat64 ? 2 : 4; }

Status fill(KernelContext& c, Tensor& y, Distribution distribution, const Philox& from, const Runs& runs) {
  if (y.elements() == 0) return ok_status();
  const std::int64_t group = group_of(y.dtype());
  const Stream stream{{from.key()[0], from.key()[1]},
                      {from.counter()[0], from.counter()[1], from.counter()[2], from.counter()[3]}};
  const std::string kernel = str_cat(kNames[static_cast<int>(distribution)], cuda::type_suffix(y.dtype()));
  return cuda::launch(c, {"random", kernel}, cuda::grid_for(runs.count * (runs.n / group + 2)), runs, y.raw(), stream);
}
Status fill(KernelContext& c, Tensor& y, Distribution distribution, const Philox& from) {
  return fill(c, y, distribution, from, {.first = 0, .n = y.elements(), .count = 1, .step = 0});
}

template <Distribution kDistribution>
class Random final : public Kernel {
 public:
  explicit Random(const KernelInit& init) : generator_(op_stream(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Random>(init));
  }
  bool repeatable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const Philox from = generator_->reserve(static_cast<std::uint64_t>(shape.elements()) * kBlocksPerElement);
    return fill(c, *y, kDistribution, from);
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

constexpr const char* kSeeded[] = {"seeded_uniform_", "seeded_normal_", "seeded_truncated_"};  // likewise

template <Distribution kDistribution>
class Stateless final : public Kernel, public DeviceInputs {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Stateless>(init));
  }
  explicit Stateless(const KernelInit& init)
      : seed_there_(init.input_dtypes[1] == DType::kInt64),
        repeatable_(seed_there_ ? cuda::reads_constants_only(init, {1}) : cuda::reads_constants_only(init)) {}
  bool repeatable() const override { return repeatable_; }
  bool on_device(int input) const override { return input == 1 && seed_there_; }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    if (!seed_there_) {
      ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(1)));
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
      return fill(c, *y, kDistribution, from);
    }
    const Tensor& seed = c.input(1);
    if (seed.shape() != Shape({2}))
      return invalid_argument("seed must hold two integers, not be of shape ", seed.shape());
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    const Runs runs{.first = 0, .n = y->elements(), .count = 1, .step = 0};
    const std::string kernel = str_cat(kSeeded[static_cast<int>(kDistribution)], cuda::type_suffix(y->dtype()));
    return cuda::launch(c, {"random", kernel}, cuda::grid_for(runs.n / group_of(y->dtype()) + 2), runs, y->raw(),
                        seed.raw());
  }

 private:
  const bool seed_there_, repeatable_;
};

template <Distribution kDistribution>
class ShareOfRandom final : public Kernel {
 public:
  explicit ShareOfRandom(const KernelInit& init) : draws_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ShareOfRandom>(init));
  }
  bool repeatable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const ShareDraw draw, draws_.next(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, draw.shape));
    return fill(
        c, *y, kDistribution, draw.from,
        {.first = draw.first_of_run, .n = y->elements() / draw.runs, .count = draw.runs, .step = draw.from_run_to_run});
  }

 private:
  ShareDraws draws_;
};

}  // namespace

void add_kernels_cuda_random(KernelRegistry& kernels) {
  using enum Distribution;
  const std::vector<KernelTypes> floats = {{"dtype", cuda::kFloatingTypes}};
  const auto share = [](const char* of) { return std::string(kSharePrefix) + of; };
  kernels.add("RandomUniform", "cuda", Random<kUniform>::make, floats);
  kernels.add("RandomStandardNormal", "cuda", Random<kNormal>::make, floats);
  kernels.add("TruncatedNormal", "cuda", Random<kTruncatedNormal>::make, floats);
  kernels.add("StatelessRandomUniform", "cuda", Stateless<kUniform>::make, floats);
  kernels.add("StatelessRandomNormal", "cuda", Stateless<kNormal>::make, floats);
  kernels.add("StatelessTruncatedNormal", "cuda", Stateless<kTruncatedNormal>::make, floats);
  for (const char* of : {"RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2"}) {
    kernels.add(share(of), "cuda", ShareOfRandom<kUniform>::make, floats);
  }
  for (const char* of : {"RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2"}) {
    kernels.add(share(of), "cuda", ShareOfRandom<kNormal>::make, floats);
  }
  for (const char* of : {"TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"}) {
    kernels.add(share(of), "cuda", ShareOfRandom<kTruncatedNormal>::make, floats);
  }
}

}  // namespace argosy
