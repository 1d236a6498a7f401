// Random ops that keep a generator between runs.
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

void add_stateless_random(KernelRegistry& kernels);  // stateless_cpu.cc
void add_random_shards(KernelRegistry& kernels);     // random_shard_cpu.cc
void add_stream_places(KernelRegistry& kernels);     // stream_place_cpu.cc

Result<Shape> random_shape(const Tensor& t) {
  if (t.shape().rank() != 1)
    return invalid_argument("random numbers: shape must be a vector, not of shape ", t.shape());
  return to_shape(t, "random numbers: shape");
}

Result<IntRange> int_range(const Tensor& low, const Tensor& high) {
  if (low.shape().rank() != 0 || high.shape().rank() != 0) {
    return invalid_argument("random integers: minval and maxval must be scalars, not of shape ", low.shape(), " and ",
                            high.shape());
  }
  IntRange range;
  using Types = TypeList<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  ARGOSY_RETURN_IF_ERROR(dispatch<Types>(low.dtype(), "random integers", [&]<typename T>() -> Status {
    const T from = *low.data<T>();
    const T to = *high.data<T>();
    if (from >= to) return invalid_argument("random integers: minval ", from, " is not below maxval ", to);
    range.low = static_cast<std::uint64_t>(from);
    range.size = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
    return ok_status();
  }));
  return range;
}

namespace {

template <Distribution kDistribution, bool kPlain>
class Random final : public Kernel {
 public:
  Random(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const Philox from = generator_->reserve(static_cast<std::uint64_t>(shape.elements()) * kBlocksPerElement);
    return fill_random(*y, kDistribution, from, kPlain);
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

class RandomInts final : public Kernel {
 public:
  RandomInts(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
      return invalid_argument("RandomUniformInt: minval and maxval must be scalars");
    }
    if (shape.elements() == 0) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const IntRange range, int_range(c.input(1), c.input(2)));
    const Philox from = generator_->reserve(static_cast<std::uint64_t>(shape.elements()) * kBlocksPerElement);
    return fill_random_ints(*y, range.low, range.size, from);
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

class RandomShuffle final : public Kernel {
 public:
  RandomShuffle(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const std::int64_t rows = x.shape().rank() == 0 ? 1 : x.shape()[0];
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    if (x.elements() <= 1 || rows <= 1) {
      copy_elements(*y, x);
      return ok_status();
    }
    return shuffle_rows(c, x, *y, generator_->reserve(static_cast<std::uint64_t>(rows + 2) / 4));
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

class Multinomial final : public Kernel {
 public:
  Multinomial(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t samples, checked_samples(c));
    if (c.input(0).shape()[0] == 0 || samples == 0) return draw_classes(c, samples, Philox(Philox::Key{}, {}));
    return draw_classes(c, samples, generator_->reserve(blocks_for_classes(c.input(0).shape()[0], samples)));
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

}  // namespace

void add_kernels_cpu_random(KernelRegistry& kernels) {
  using enum Distribution;
  kernels.add("RandomUniform", "cpu", make_with_generator<Random<kUniform, false>>);
  kernels.add("RandomUniform", "cpu", make_with_generator<Random<kUniform, true>>);
  kernels.add("RandomStandardNormal", "cpu", make_with_generator<Random<kNormal, false>>);
  kernels.add("RandomStandardNormal", "cpu", make_with_generator<Random<kNormal, true>>);
  kernels.add("TruncatedNormal", "cpu", make_with_generator<Random<kTruncatedNormal, false>>);
  kernels.add("TruncatedNormal", "cpu", make_with_generator<Random<kTruncatedNormal, true>>);
  kernels.add("RandomUniformInt", "cpu", make_with_generator<RandomInts>);
  kernels.add("RandomShuffle", "cpu", with_workspace<make_with_generator<RandomShuffle>, shuffle_bytes>);
  kernels.add("Multinomial", "cpu", with_workspace<make_with_generator<Multinomial>, classes_bytes>);
  add_stateless_random(kernels);
  add_random_shards(kernels);
  add_stream_places(kernels);
}

}  // namespace argosy
