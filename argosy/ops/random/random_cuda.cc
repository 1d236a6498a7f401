// Random numbers on a GPU. The host keeps a stream's position, and the GPU generates the numbers. Seeds of int64 are
// read on the GPU, so that steps whose seed depends on the step number can be captured
// (argosy/runtime/compile/capture_regions.h).
#include "argosy/ops/gpu_kernels.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/random_shard.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

namespace {

// As in random_cuda.cu.
struct Stream {
  std::uint32_t key[2];
  std::uint32_t counter[4];
};

struct Origin {
  Stream stream;
  const void* key;  // null: `stream`
  const void* counter;

  static Origin of(const Philox& from) {
    return {
        {{from.key()[0], from.key()[1]}, {from.counter()[0], from.counter()[1], from.counter()[2], from.counter()[3]}},
        nullptr,
        nullptr};
  }
};

constexpr const char* kNames[] = {"random_uniform_", "random_normal_", "random_truncated_"};  // by Distribution

struct Runs {
  std::int64_t first, n, count, step;
};

// Elements that a block of the stream gives.
std::int64_t group_of(DType dtype) { return dtype == DType::kFloat64 ? 2 : 4; }

Status fill(KernelContext& c, Tensor& y, Distribution distribution, const Origin& from, const Runs& runs) {
  if (y.elements() == 0) return ok_status();
  const std::int64_t group = group_of(y.dtype());
  const std::string kernel = str_cat(kNames[static_cast<int>(distribution)], cuda::type_suffix(y.dtype()));
  return cuda::launch(c, {"random", kernel}, cuda::grid_for(runs.count * (runs.n / group + 2)), runs, y.raw(), from);
}
Status fill(KernelContext& c, Tensor& y, Distribution distribution, const Origin& from) {
  return fill(c, y, distribution, from, {.first = 0, .n = y.elements(), .count = 1, .step = 0});
}

template <Distribution kDistribution>
class Random final : public Kernel {
 public:
  Random(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  bool capturable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const Philox from = generator_->reserve(static_cast<std::uint64_t>(shape.elements()) * kBlocksPerElement);
    return fill(c, *y, kDistribution, Origin::of(from));
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
        capturable_(seed_there_ ? cuda::reads_constants_only(init, {1}) : cuda::reads_constants_only(init)) {}
  bool capturable() const override { return capturable_; }
  bool on_device(int input) const override { return input == 1 && seed_there_; }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    if (!seed_there_) {
      ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(1)));
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
      return fill(c, *y, kDistribution, Origin::of(from));
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
  const bool seed_there_, capturable_;
};

// Of a key and a counter that lie on the GPU.
Result<Origin> keyed_origin(const Tensor& key, const Tensor& counter, const Tensor& alg) {
  ARGOSY_RETURN_IF_ERROR(check_keyed(key, counter, alg));
  return Origin{{}, key.raw(), counter.raw()};
}

template <Distribution kDistribution>
Status keyed(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Origin from, keyed_origin(c.input(1), c.input(2), c.input(3)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return fill(c, *y, kDistribution, from);
}

Status fill_integers(KernelContext& c, Tensor& y, const IntRange& range, const Origin& from) {
  const std::int64_t n = y.elements();
  if (element_bytes(y.dtype()) == 4) {
    return cuda::launch(c, {"random", "random_integers_u32"}, cuda::grid_for((n + 3) / 4), n, y.raw(),
                        static_cast<std::uint32_t>(range.low), static_cast<std::uint32_t>(range.size), from);
  }
  return cuda::launch(c, {"random", "random_integers_u64"}, cuda::grid_for((n + 1) / 2), n, y.raw(), range.low,
                      range.size, from);
}

// Of a seed, or of a key and a counter; kFull: of every value there is.
template <bool kKeyed, bool kFull>
Status integers(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  Origin from{};
  if constexpr (kKeyed) {
    ARGOSY_ASSIGN_OR_RETURN(from, keyed_origin(c.input(1), c.input(2), c.input(3)));
  } else {
    ARGOSY_ASSIGN_OR_RETURN(const Philox stream, seeded_stream(c.input(1)));
    from = Origin::of(stream);
  }
  IntRange range;
  if constexpr (!kFull) {
    ARGOSY_ASSIGN_OR_RETURN(range, int_range(c.input(c.num_inputs() - 2), c.input(c.num_inputs() - 1)));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return fill_integers(c, *y, range, from);
}

class RandomIntegers final : public Kernel {
 public:
  RandomIntegers(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  bool capturable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
      return invalid_argument("RandomUniformInt: minval and maxval must be scalars");
    }
    if (shape.elements() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const IntRange range, int_range(c.input(1), c.input(2)));
    const Philox from = generator_->reserve(static_cast<std::uint64_t>(shape.elements()) * kBlocksPerElement);
    return fill_integers(c, *y, range, Origin::of(from));
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

Status draw_classes(KernelContext& c, std::int64_t samples, const Origin& from) {
  const Tensor& logits = c.input(0);
  const std::int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(std::array{rows, samples}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  if (y->elements() == 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const Buffer sums, c.scratch(static_cast<std::size_t>(rows * classes) * sizeof(double)));
  const std::string kernel =
      str_cat("draw_classes_", cuda::type_suffix(logits.dtype()), "_", cuda::type_suffix(y->dtype()));
  const auto start = [&](void* to) {
    return cuda::launch(c, {"random", kernel}, cuda::grid_for(rows * cuda::kBlock), rows, classes, samples,
                        logits.raw(), sums.data(), to, from);
  };
  if (y->dtype() != DType::kInt32) return start(y->raw());
  ARGOSY_ASSIGN_OR_RETURN(cuda::ToHost there, cuda::ToHost::of(c, *y));
  ARGOSY_RETURN_IF_ERROR(start(there.data()));
  return there.finish(c);
}

class Multinomial final : public Kernel {
 public:
  Multinomial(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  bool capturable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t samples, checked_samples(c));
    const std::int64_t rows = c.input(0).shape()[0];
    if (rows == 0 || samples == 0) return draw_classes(c, samples, {});
    return draw_classes(c, samples, Origin::of(generator_->reserve(blocks_for_classes(rows, samples))));
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

class StatelessMultinomial final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const bool waits = init.output_dtypes[0] == DType::kInt32;
    return std::unique_ptr<Kernel>(std::make_unique<StatelessMultinomial>(!waits && cuda::reads_constants_only(init)));
  }
  explicit StatelessMultinomial(bool capturable) : capturable_(capturable) {}
  bool capturable() const override { return capturable_; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t samples, checked_samples(c));
    ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(2)));
    return draw_classes(c, samples, Origin::of(from));
  }

 private:
  const bool capturable_;
};

template <Distribution kDistribution>
class RandomShard final : public Kernel {
 public:
  explicit RandomShard(ShardDraws draws) : draws_(std::move(draws)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(ShardDraws draws, ShardDraws::make(init));
    return std::unique_ptr<Kernel>(std::make_unique<RandomShard>(std::move(draws)));
  }
  bool capturable() const override { return false; }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const ShardDraw draw, draws_.next(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, draw.shape));
    return fill(
        c, *y, kDistribution, Origin::of(draw.from),
        {.first = draw.first_of_run, .n = y->elements() / draw.runs, .count = draw.runs, .step = draw.from_run_to_run});
  }

 private:
  ShardDraws draws_;
};

}  // namespace

void add_kernels_cuda_random(KernelRegistry& kernels) {
  using enum Distribution;
  const std::vector<KernelTypes> floats = {{"dtype", cuda::kFloatingTypes}};
  const auto shard = [](const char* of) { return std::string(kShardPrefix) + of; };
  kernels.add("RandomUniform", "cuda", make_with_generator<Random<kUniform>>, floats);
  kernels.add("RandomStandardNormal", "cuda", make_with_generator<Random<kNormal>>, floats);
  kernels.add("TruncatedNormal", "cuda", make_with_generator<Random<kTruncatedNormal>>, floats);
  kernels.add("StatelessRandomUniform", "cuda", Stateless<kUniform>::make, floats);
  kernels.add("StatelessRandomNormal", "cuda", Stateless<kNormal>::make, floats);
  kernels.add("StatelessTruncatedNormal", "cuda", Stateless<kTruncatedNormal>::make, floats);
  kernels.add("StatelessRandomUniformV2", "cuda", cuda::make_launching<keyed<kUniform>>, floats);
  kernels.add("StatelessRandomNormalV2", "cuda", cuda::make_launching<keyed<kNormal>>, floats);
  kernels.add("StatelessTruncatedNormalV2", "cuda", cuda::make_launching<keyed<kTruncatedNormal>>, floats);
  using enum DType;
  kernels.add("RandomUniformInt", "cuda", make_with_generator<RandomIntegers>, {{"Tout", {kInt64}}});
  kernels.add("RandomUniformInt", "cuda", cuda::make_on_host, {{"Tout", {kInt32}}});
  const std::vector<KernelTypes> wide = {{"dtype", {kInt64, kUint32, kUint64}}}, narrow = {{"dtype", {kInt32}}};
  kernels.add("StatelessRandomUniformInt", "cuda", cuda::make_launching<integers<false, false>>, wide);
  kernels.add("StatelessRandomUniformFullInt", "cuda", cuda::make_launching<integers<false, true>>, wide);
  kernels.add("StatelessRandomUniformIntV2", "cuda", cuda::make_launching<integers<true, false>>, wide);
  kernels.add("StatelessRandomUniformFullIntV2", "cuda", cuda::make_launching<integers<true, true>>, wide);
  for (const char* op : {"StatelessRandomUniformInt", "StatelessRandomUniformFullInt"}) {
    kernels.add(op, "cuda", cuda::make_on_host, narrow);
  }
  const std::vector<KernelTypes> logits = {{"T", cuda::kFloatingTypes}, {"output_dtype", {kInt32, kInt64}}};
  kernels.add("Multinomial", "cuda", make_with_generator<Multinomial>, logits);
  kernels.add("StatelessMultinomial", "cuda", StatelessMultinomial::make, logits);
  // Their keys lie on the GPU.
  for (const char* op : {"StatelessRandomUniformIntV2", "StatelessRandomUniformFullIntV2"}) {
    kernels.add(op, "cuda", cuda::make_host_fallback, narrow);
  }
  for (const char* op : {"StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg"}) {
    kernels.add(op, "cuda", cuda::make_on_host);
  }
  for (const char* of : {"RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2"}) {
    kernels.add(shard(of), "cuda", RandomShard<kUniform>::make, floats);
  }
  for (const char* of : {"RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2"}) {
    kernels.add(shard(of), "cuda", RandomShard<kNormal>::make, floats);
  }
  for (const char* of : {"TruncatedNormal", "StatelessTruncatedNormal", "StatelessTruncatedNormalV2"}) {
    kernels.add(shard(of), "cuda", RandomShard<kTruncatedNormal>::make, floats);
  }
}

}  // namespace argosy
