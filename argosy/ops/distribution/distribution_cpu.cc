#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/distribution/draws.h"
#include "argosy/ops/random/op_generator.h"
#include "argosy/ops/random/sample.h"

namespace argosy {

void add_random_generators(KernelRegistry& kernels);  // stateful_generators_cpu.cc
void add_broadcast_samples(KernelRegistry& kernels);  // broadcast_samples_cpu.cc
void add_index_shuffle(KernelRegistry& kernels);      // index_shuffle_cpu.cc
void add_sobol(KernelRegistry& kernels);              // sobol_cpu.cc

namespace {

using Draw = Status (*)(const Tensor& parameter, const Tensor& y, const Philox& from);

// The result's shape is `shape` and then the parameter's. The kernel keeps the generator.
template <Draw kDraw>
class PerParameter final : public Kernel {
 public:
  PerParameter(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape front, random_shape(c.input(0)));
    const Shape& back = c.input(1).shape();
    std::vector<std::int64_t> sizes(front.sizes().begin(), front.sizes().end());
    sizes.insert(sizes.end(), back.sizes().begin(), back.sizes().end());
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (shape.elements() == 0) return ok_status();
    const auto blocks = static_cast<std::uint64_t>(shape.elements()) * distribution::kBlocksPerElement;
    return kDraw(c.input(1), *y, generator_->reserve(blocks));
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

// The result's shape is `shape`, which ends with the parameter's.
Status stateless(KernelContext& c, const Tensor& parameter, const Philox& from, Draw draw) {
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
  const Shape& back = parameter.shape();
  bool fits = back.rank() <= shape.rank();
  for (int i = 1; fits && i <= back.rank(); ++i) fits = back[back.rank() - i] == shape[shape.rank() - i];
  if (!fits) {
    return invalid_argument("random samples: shape ", shape, " must end with the parameter's shape ", back);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  return shape.elements() == 0 ? ok_status() : draw(parameter, *y, from);
}

template <Draw kDraw>
Status seeded(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, seeded_stream(c.input(1)));
  return stateless(c, c.input(2), from, kDraw);
}
Status keyed_gamma(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, keyed_stream(c.input(1), c.input(2), c.input(3)));
  return stateless(c, c.input(4), from, distribution::draw_gamma);
}

class TruncatedNormalBetween final : public Kernel {
 public:
  TruncatedNormalBetween(const KernelInit&, std::shared_ptr<SharedPhilox> stream) : generator_(std::move(stream)) {}
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, random_shape(c.input(0)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    return distribution::draw_truncated_normal(c, *y, *generator_);
  }

 private:
  const std::shared_ptr<SharedPhilox> generator_;
};

Status shuffle(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Philox from, keyed_stream(c.input(1), c.input(2), c.input(3)));
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  if (x.elements() == 0 || x.shape().rank() == 0 || x.shape()[0] < 2) {
    copy_elements(*y, x);
    return ok_status();
  }
  return shuffle_rows(c, x, *y, from);
}

}  // namespace

void add_kernels_cpu_distribution(KernelRegistry& kernels) {
  using distribution::draw_gamma;
  using distribution::draw_poisson;
  kernels.add("RandomGamma", "cpu", make_with_generator<PerParameter<draw_gamma>>);
  kernels.add("RandomPoisson", "cpu", make_with_generator<PerParameter<draw_poisson>>);
  kernels.add("RandomPoissonV2", "cpu", make_with_generator<PerParameter<draw_poisson>>);
  kernels.add("StatelessRandomGammaV2", "cpu", seeded<draw_gamma>);
  kernels.add("StatelessRandomGammaV3", "cpu", keyed_gamma);
  kernels.add("StatelessRandomPoisson", "cpu", seeded<draw_poisson>);
  kernels.add("ParameterizedTruncatedNormal", "cpu", make_with_generator<TruncatedNormalBetween>);
  kernels.add("StatelessShuffle", "cpu", with_workspace<shuffle, shuffle_bytes>);
  add_random_generators(kernels);
  add_broadcast_samples(kernels);
  add_index_shuffle(kernels);
  add_sobol(kernels);
}

}  // namespace argosy
