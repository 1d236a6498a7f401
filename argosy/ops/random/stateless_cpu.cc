// Random ops whose numbers follow from their inputs alone.
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/random/fill.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

// A seed of two integers is scrambled so that it does not matter which of their bits differ: one Philox block under a
// key of TensorFlow's choice gives the key and the upper half of the counter.
Result<Philox> seeded_stream(const Tensor& seed) {
  if (seed.shape() != Shape({2}))
    return invalid_argument("seed must hold two integers, not be of shape ", seed.shape());
  std::uint64_t parts[2] = {};
  ARGOSY_RETURN_IF_ERROR(dispatch<IntegerTypes>(seed.dtype(), "seed", [&]<typename T>() {
    for (int i = 0; i < 2; ++i) parts[i] = static_cast<std::uint64_t>(seed.data<T>()[i]);
    return ok_status();
  }));
  const Philox::Block counter = {static_cast<std::uint32_t>(parts[0]), static_cast<std::uint32_t>(parts[0] >> 32),
                                 static_cast<std::uint32_t>(parts[1]), static_cast<std::uint32_t>(parts[1] >> 32)};
  const Philox::Block mixed = Philox({0x3ec8f720, 0x02461e29}, counter)();
  return Philox({mixed[0], mixed[1]}, {0, 0, mixed[2], mixed[3]});
}

namespace {

constexpr std::int32_t kPhilox = 1;
constexpr std::int32_t kAutoSelect = 3;

}  // namespace

Status check_keyed(const Tensor& key, const Tensor& counter, const Tensor& alg) {
  if (alg.shape().rank() != 0) return invalid_argument("alg must be a scalar, not of shape ", alg.shape());
  const std::int32_t number = *alg.data<std::int32_t>();
  if (number != kPhilox && number != kAutoSelect) {
    return invalid_argument("random algorithm ", number, " is not supported: 1 is Philox, 3 the device's choice");
  }
  if (key.shape() != Shape({1}) || counter.shape().rank() != 1 || counter.elements() < 2) {
    return invalid_argument("key and counter must have 1 and 2 elements, not the shapes ", key.shape(), " and ",
                            counter.shape());
  }
  return ok_status();
}

Result<Philox> keyed_stream(const Tensor& key, const Tensor& counter, const Tensor& alg) {
  ARGOSY_RETURN_IF_ERROR(check_keyed(key, counter, alg));
  const std::uint64_t k = *key.data<std::uint64_t>();
  const std::uint64_t low = counter.data<std::uint64_t>()[0], high = counter.data<std::uint64_t>()[1];
  return Philox({static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(k >> 32)},
                {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                 static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)});
}

namespace {

enum class From { kSeed, kKey };

template <From kFrom>
Result<Philox> stream(KernelContext& c) {
  return kFrom == From::kSeed ? seeded_stream(c.input(1)) : keyed_stream(c.input(1), c.input(2), c.input(3));
}

template <From kFrom, Distribution kDistribution, bool kPlain>
Status random(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, stream<kFrom>(c));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return fill_random(*y, kDistribution, from, kPlain);
}

template <From kFrom, bool kFull>
Status random_ints(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, stream<kFrom>(c));
  IntRange range;
  if constexpr (!kFull) {
    ARGOSY_ASSIGN_OR_RETURN(range, int_range(c.input(c.num_inputs() - 2), c.input(c.num_inputs() - 1)));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return fill_random_ints(*y, range.low, range.size, from);
}

Status multinomial(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t samples, checked_samples(c));
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(2)));
  return draw_classes(c, samples, from);
}

Status get_alg(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const alg, c.output(c.num_outputs() - 1, {}));
  *alg->data<std::int32_t>() = kPhilox;
  return ok_status();
}

Status get_key_counter(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const key, c.output(0, Shape({1})));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const counter, c.output(1, Shape({2})));
  const auto join = [](std::uint32_t low, std::uint32_t high) { return low | (std::uint64_t{high} << 32); };
  *key->data<std::uint64_t>() = join(from.key()[0], from.key()[1]);
  counter->data<std::uint64_t>()[0] = from.low();
  counter->data<std::uint64_t>()[1] = join(from.counter()[2], from.counter()[3]);
  return c.num_outputs() == 3 ? get_alg(c) : ok_status();
}

}  // namespace

void add_stateless_random(KernelRegistry& kernels) {
  using enum Distribution;
  kernels.add("StatelessRandomUniform", "cpu", random<From::kSeed, kUniform, false>);
  kernels.add("StatelessRandomUniform", "cpu", random<From::kSeed, kUniform, true>);
  kernels.add("StatelessRandomNormal", "cpu", random<From::kSeed, kNormal, false>);
  kernels.add("StatelessRandomNormal", "cpu", random<From::kSeed, kNormal, true>);
  kernels.add("StatelessTruncatedNormal", "cpu", random<From::kSeed, kTruncatedNormal, false>);
  kernels.add("StatelessTruncatedNormal", "cpu", random<From::kSeed, kTruncatedNormal, true>);
  kernels.add("StatelessRandomUniformV2", "cpu", random<From::kKey, kUniform, false>);
  kernels.add("StatelessRandomUniformV2", "cpu", random<From::kKey, kUniform, true>);
  kernels.add("StatelessRandomNormalV2", "cpu", random<From::kKey, kNormal, false>);
  kernels.add("StatelessRandomNormalV2", "cpu", random<From::kKey, kNormal, true>);
  kernels.add("StatelessTruncatedNormalV2", "cpu", random<From::kKey, kTruncatedNormal, false>);
  kernels.add("StatelessTruncatedNormalV2", "cpu", random<From::kKey, kTruncatedNormal, true>);
  kernels.add("StatelessRandomUniformInt", "cpu", random_ints<From::kSeed, false>);
  kernels.add("StatelessRandomUniformIntV2", "cpu", random_ints<From::kKey, false>);
  kernels.add("StatelessRandomUniformFullInt", "cpu", random_ints<From::kSeed, true>);
  kernels.add("StatelessRandomUniformFullIntV2", "cpu", random_ints<From::kKey, true>);
  kernels.add("StatelessMultinomial", "cpu", with_workspace<multinomial, classes_bytes>);
  kernels.add("StatelessRandomGetKeyCounter", "cpu", get_key_counter);
  kernels.add("StatelessRandomGetKeyCounterAlg", "cpu", get_key_counter);
  kernels.add("StatelessRandomGetAlg", "cpu", get_alg);
}

}  // namespace argosy
